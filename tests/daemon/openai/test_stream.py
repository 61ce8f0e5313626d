"""The bytes of an answer: joined over chunks, bounded, and understood for what they say."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.daemon.openai.stream import LINE_BYTES_MAX, BadAnswer, Completion, Lines, TooLong


def said(text: str) -> bytes:
    return json.dumps({"choices": [{"delta": {"content": text}}]}, ensure_ascii=False).encode()


@pytest.mark.slow
@settings(deadline=None)
@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=8), data=st.data())
def test_where_chunks_are_cut_makes_no_difference(words: list[str], data: st.DataObject) -> None:
    # Given a stream cut anywhere
    whole = b"".join(b"data: " + said(word) + b"\n\n" for word in words)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=10)))
    chunks = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    # When it is read
    lines, completion = Lines(), Completion(10**6)
    for chunk in chunks:
        for payload in lines.feed(chunk):
            completion.take(payload)

    # Then nothing is lost
    assert completion.text == "".join(words)


@pytest.mark.slow
@settings(deadline=None)
@given(payload=st.binary(max_size=200) | st.builds(lambda value: json.dumps(value).encode(), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["choices", "delta", "content", "usage", "error", "prompt_tokens"]), inner),
)))  # fmt: skip
def test_whatever_a_server_says_is_understood_or_refused(payload: bytes) -> None:
    completion = Completion(100)
    try:
        completion.take(payload)
    except (BadAnswer, TooLong):
        return
    assert isinstance(completion.text, str)


def test_the_last_line_counts_without_its_end() -> None:
    lines = Lines()

    assert list(lines.feed(b"event: x\n: comment\ndata:[DONE]")) == []
    assert list(lines.end()) == [b"[DONE]"]


def test_a_line_has_a_bound() -> None:
    lines = Lines()
    with pytest.raises(TooLong):
        list(lines.feed(b"x" * (LINE_BYTES_MAX + 1)))


def test_an_answer_has_a_bound() -> None:
    completion = Completion(5)
    completion.take(said("12345"))
    with pytest.raises(TooLong):
        completion.take(said("6"))


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2}, {"input_tokens": 3, "output_tokens": 2}),
        ({"cost": 0.5}, {"cost_usd": 0.5}),
        ({"prompt_tokens": "3", "completion_tokens": -1, "cost": True}, None),
        ({"prompt_tokens": 10**30}, None),
        ([], None),
    ],
)
def test_figures_that_make_no_sense_are_left_out(usage: Any, told: Any) -> None:
    completion = Completion(100)
    completion.take(json.dumps({"usage": usage}).encode())
    assert completion.usage == told
