"""Finds the lines whose decoding fails and sets them aside, so that the rest of the batch goes through.

The decoder knows most values that don't fit (decode.py). This handles those that it doesn't foresee.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.decoding.decode import Decoder
from spark_jobs.decoding.schema import Column, Encoding
from spark_jobs.errors import first_line
from spark_jobs.runtime.retry import may_be_a_value

# More failures in one batch point to a fault that needs a person, not to odd values.
MOST = 20
_PLACE = ("origin", "block", "number")
Reasons = Mapping[tuple[str, int, int], str]


def found(lines: DataFrame, decoder: Decoder, columns: Sequence[Column]) -> Reasons:
    """Return why lines fail, by their place; empty when single lines aren't the cause, or too many fail.

    Decodes a failing part again in two halves: some two decodings of a half, a quarter … for each failing line. `lines`
    must be cached, so that reading can't fail. Raises errors that no value causes.
    """
    parts, reasons = [(lines, 0)], dict[tuple[str, int, int], str]()
    while parts:
        part, depth = parts.pop()
        if _failure(part, decoder) is None:
            continue
        places = part.select(*_PLACE).limit(2).collect()
        if len(places) > 1:
            half = F.shiftright(F.xxhash64(*_PLACE), depth).bitwiseAND(1)
            parts += [(part.filter(half == number), depth + 1) for number in (0, 1)]
        elif len(reasons) == MOST or _failure(part.withColumn("line", F.lit("{}")), decoder):
            return {}
        else:
            reasons[tuple(places[0])] = _reason(part, decoder, columns)
    return reasons


def decoded(lines: DataFrame, decoder: Decoder, failing: Reasons) -> DataFrame:
    """Decode lines; pass failing ones to the decoder as empty events, and return them with reason and text."""
    if not failing:
        return decoder(lines)
    why = F.coalesce(*(F.when(_is_at(place), F.lit(reason)) for place, reason in failing.items()))
    texts = lines.select(*_PLACE, why.alias("_why"), F.col("line").alias("_text")).filter("_why IS NOT NULL")
    events = decoder(lines.withColumn("line", F.when(why.isNull(), F.col("line")).otherwise("{}")))
    joined = events.join(F.broadcast(texts), [*_PLACE], "left")
    said = {"reason": F.coalesce("_why", "reason"), "line": F.coalesce("_text", "line")}
    return joined.withColumns(said).select(*events.columns)


def _failure(lines: DataFrame, decoder: Decoder) -> str | None:
    """Return the decoding error, None without one; raises errors that no value causes."""
    try:
        decoder(lines).write.format("noop").mode("overwrite").save()
    except Exception as error:
        if not may_be_a_value(error):
            raise
        return first_line(error)
    return None


def _reason(line: DataFrame, decoder: Decoder, columns: Sequence[Column]) -> str:
    """Describe a single line's failure, with the column if it is only one."""
    names = [column for column in columns if column.encoding is not Encoding.SPECIALS]
    while len(names) > 1:
        half = names[: len(names) // 2]
        names = half if _failure(line, Decoder(half, required=())) else names[len(half) :]
    at = f"{names[0].source} " if _failure(line, Decoder(names, required=())) else ""
    return f"value: {at}(the job fails at it: {_failure(line, decoder)})"


def _is_at(place: tuple[str, int, int]) -> Expression:
    origin, block, number = place
    return (F.col("origin") == origin) & (F.col("block") == block) & (F.col("number") == number)
