"""Reading the lake says in one line what is wrong, and one disturbed look is no failure."""

from pathlib import Path

import pyarrow
import pytest

from local.look import lake as module
from local.look.lake import Lake, LakeError


def test_a_table_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    lake = Lake(base_uri=tmp_path.as_uri())
    assert not lake.exists()
    with pytest.raises(LakeError) as error:
        lake.rows()
    assert str(error.value).startswith(tmp_path.as_uri())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("disturbed", "ends_well"), [(1, True), (module.ATTEMPTS, False)])
def test_a_disturbed_look_is_repeated_but_not_for_ever(
    disturbed: int, ends_well: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    class Table:
        def read(self, _options: object) -> list[pyarrow.RecordBatch]:
            looks.append(1)
            if len(looks) <= disturbed:
                raise RuntimeError("unfinished object")
            return [pyarrow.RecordBatch.from_pydict({"order_id": [10248]})]

    monkeypatch.setattr(Lake, "_table", lambda _self: Table())
    if ends_well:
        assert Lake(base_uri="s3://lake/t").rows().num_rows == 1
    else:
        with pytest.raises(LakeError, match="unfinished object"):
            Lake(base_uri="s3://lake/t").rows()
    assert len(looks) == min(disturbed + 1, module.ATTEMPTS)
