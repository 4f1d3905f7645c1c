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
    value: Any, schema: Any, lines: Lines, path: object, *, kind: str = "key", key_path: tuple = ()
) -> list[Problem]:
    """List the keys and values in ``value`` that ``schema`` doesn't allow.

    A schema is a type, a literal, a dict of known keys, ``[schema]`` for a list,
    or a tuple of alternatives.
    """
    alternatives = schema if isinstance(schema, tuple) else (schema,)
    fitting = [alternative for alternative in alternatives if _same_shape(value, alternative)]
    if not fitting:
        return [Problem(path, lines.get(key_path), _wrong_value(key_path, value, alternatives))]
    [schema, *_] = fitting
    problems: list[Problem] = []
    if isinstance(schema, dict):
        for key, item in value.items():
            here = (*key_path, key)
            if key in schema:
                problems += mistakes(item, schema[key], lines, path, kind=kind, key_path=here)
            else:
                message = f'unknown {kind} "{_dotted(here)}"{nearest(str(key), schema)}'
                problems.append(Problem(path, lines.get(here), message))
    elif isinstance(schema, list):
        for index, item in enumerate(value):
            problems += mistakes(
                item, schema[0], lines, path, kind=kind, key_path=(*key_path, index)
            )
    return problems


def _same_shape(value: Any, schema: Any) -> bool:
    if isinstance(schema, dict | list):
        return isinstance(value, type(schema))
    if isinstance(schema, type):
        return isinstance(value, schema) and (schema is bool or not isinstance(value, bool))
    return value == schema and type(value) is type(schema)


def _wrong_value(key_path: tuple, value: Any, alternatives: tuple) -> str:
    names = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
    allowed = [
        names.get(alternative) if isinstance(alternative, type)
        else "a list" if isinstance(alternative, list)
        else "a mapping" if isinstance(alternative, dict)
        else str(alternative).lower() if isinstance(alternative, bool)
        else f'"{alternative}"'
        for alternative in alternatives
    ]  # fmt: skip
    return f'"{_dotted(key_path)}" must be {" or ".join(allowed)}, not {value!r}'


def _dotted(key_path: tuple) -> str:
    return ".".join(str(part) for part in key_path if not isinstance(part, int)) or "the file"
