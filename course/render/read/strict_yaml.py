"""Read YAML with the line of every key, and compare it with a schema of the known keys."""

from typing import Any

import yaml

from course.problems import Problem, nearest

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Lines = dict[tuple[Any, ...], int]


def read_yaml(text: str, path: object, first_line: int = 1) -> tuple[Any, Lines]:
    """Return the value, and the line of each key path such as ``("format", "html", "toc")``."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        value = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Problem(path, first_line + mark.line, f"bad YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise Problem(path, first_line, f"bad YAML: {str(error).splitlines()[0]}") from None
    lines: Lines = {}
    _note_lines(node, (), lines, path, first_line)
    return value, lines


def _note_lines(node: Any, key_path: tuple, lines: Lines, path: object, first: int) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*key_path, key.value)
            line = first + key.start_mark.line
            if here in lines:
                raise Problem(path, line, f'"{key.value}" is given twice')
            lines[here] = line
            _note_lines(value, here, lines, path, first)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines[(*key_path, index)] = first + item.start_mark.line
            _note_lines(item, (*key_path, index), lines, path, first)


def mistakes(
    value: Any, schema: Any, lines: Lines, path: object, *, kind: str = "key", at: tuple = ()
) -> list[Problem]:
    """List the keys and values in ``value`` that ``schema`` doesn't allow.

    A schema is a type, a literal, a dict of known keys, ``[schema]`` for a list,
    or a tuple of alternatives.
    """
    alternatives = schema if isinstance(schema, tuple) else (schema,)
    chosen = [one for one in alternatives if _same_shape(value, one)]
    if not chosen:
        return [Problem(path, lines.get(at), _wrong_value(at, value, alternatives))]
    [one, *_] = chosen
    problems: list[Problem] = []
    if isinstance(one, dict):
        for key, item in value.items():
            here = (*at, key)
            if key in one:
                problems += mistakes(item, one[key], lines, path, kind=kind, at=here)
            else:
                message = f'unknown {kind} "{_dotted(here)}"{nearest(str(key), one)}'
                problems.append(Problem(path, lines.get(here), message))
    elif isinstance(one, list):
        for index, item in enumerate(value):
            problems += mistakes(item, one[0], lines, path, kind=kind, at=(*at, index))
    return problems


def _same_shape(value: Any, schema: Any) -> bool:
    if isinstance(schema, dict | list):
        return isinstance(value, type(schema))
    if isinstance(schema, type):
        return isinstance(value, schema) and (schema is bool or not isinstance(value, bool))
    return value == schema and type(value) is type(schema)


def _wrong_value(at: tuple, value: Any, alternatives: tuple) -> str:
    names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
    wanted = [
        names.get(one) if isinstance(one, type)
        else "a list" if isinstance(one, list)
        else "a mapping" if isinstance(one, dict)
        else str(one).lower() if isinstance(one, bool)
        else f'"{one}"'
        for one in alternatives
    ]  # fmt: skip
    return f'"{_dotted(at)}" must be {" or ".join(wanted)}, not {value!r}'


def _dotted(at: tuple) -> str:
    return ".".join(str(part) for part in at if not isinstance(part, int)) or "the file"
