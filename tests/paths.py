"""How far apart two words are in a network, for the tests of m01's text and of its widget."""


def steps_by_gaps(distance: int) -> int:
    """The fewest layers whose gaps 1, 2, 4, …, each taken forwards, backwards or not, reach it."""
    reach = {0}
    for layer in range(9):
        if layer and distance in reach:
            return layer
        reach = {at + step * 2**layer for at in reach for step in (-1, 0, 1)}
    raise AssertionError(distance)
