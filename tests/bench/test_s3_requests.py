"""The count of S3 requests: how a line of S3Proxy's log is parsed, and how a run is split into parts."""

from bench.job import by_verb, requests_of
from bench.s3_requests import thirds

LINE = "request: Servlet@1{{Context@2{{Tracking@3{{{verb}@4fc17cfa http://127.0.0.1:1{target} HTTP/1.1}}}}}}\n"


def test_listing_is_a_verb_of_its_own_and_puts_are_what_costs_like_one() -> None:
    lines = [
        ("GET", "/lake/t/.hoodie/hoodie.properties"),
        ("GET", "/lake?list-type=2&prefix=t%2F&encoding-type=url"),
        ("HEAD", "/lake/customer_id%3D1/a.parquet"),
        ("PUT", "/lake/t/1.commit"),
        ("POST", "/lake?delete"),
        ("POST", "/lake/t/a.parquet?uploads"),
        ("DELETE", "/lake/t/.hoodie/.temp/1/"),
    ]
    text = "".join(LINE.format(verb=verb, target=target) for verb, target in lines) + "Creating bucket\n"
    found = list(requests_of(text))
    assert [request.target for request in found] == [target for _, target in lines]
    assert by_verb(found) == {"LIST": 1, "PUT": 2, "HEAD": 1, "GET": 1, "DELETE": 2}


def test_a_run_is_cut_into_three() -> None:
    assert thirds(30) == [(0, 10), (10, 20), (20, 30)]
    assert thirds(4) == [(0, 1), (1, 2), (2, 4)]
