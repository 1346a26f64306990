"""Finds the lines of a batch that its decoding fails at, and has them set aside: the rest of the batch goes through.

The decoder knows most values that don't fit (decode.py). This is for those that it doesn't foresee.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.decoding.decode import Decoder
from spark_jobs.decoding.schema import Column, Encoding
from spark_jobs.errors import first_line
from spark_jobs.runtime.retry import may_be_a_value

# More of them in one batch are no odd values but a fault that somebody must look at.
MOST = 20
_PLACE = ("origin", "block", "number")
Reasons = Mapping[tuple[str, int, int], str]


def found(lines: DataFrame, decoder: Decoder, columns: Sequence[Column]) -> Reasons:
    """Return why the decoding fails at lines, by their place; nothing where single lines aren't the cause, or too many.

    A part that fails is decoded again in two halves: some two decodings of a half, a quarter … for each failing line.
    `lines` are to be cached, so that it isn't the reading that fails. Raises what isn't caused by a value.
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
    """Decode lines; those that fail are given to the decoder as empty events, and come out with reason and text."""
    if not failing:
        return decoder(lines)
    why = F.coalesce(*(F.when(_is_at(place), F.lit(reason)) for place, reason in failing.items()))
    texts = lines.select(*_PLACE, why.alias("_why"), F.col("line").alias("_text")).filter("_why IS NOT NULL")
    events = decoder(lines.withColumn("line", F.when(why.isNull(), F.col("line")).otherwise("{}")))
    joined = events.join(F.broadcast(texts), [*_PLACE], "left")
    said = {"reason": F.coalesce("_why", "reason"), "line": F.coalesce("_text", "line")}
    return joined.withColumns(said).select(*events.columns)


def _failure(lines: DataFrame, decoder: Decoder) -> str | None:
    """Return what makes the decoding fail, None when it doesn't; raises what no value causes."""
    try:
        decoder(lines).write.format("noop").mode("overwrite").save()
    except Exception as error:
        if not may_be_a_value(error):
            raise
        return first_line(error)
    return None


def _reason(line: DataFrame, decoder: Decoder, columns: Sequence[Column]) -> str:
    """Say what a line fails with, and at which column, where it is one alone."""
    names = [column for column in columns if column.encoding is not Encoding.SPECIALS]
    while len(names) > 1:
        half = names[: len(names) // 2]
        names = half if _failure(line, Decoder(half, required=())) else names[len(half) :]
    at = f"{names[0].source} " if _failure(line, Decoder(names, required=())) else ""
    return f"value: {at}(the job fails at it: {_failure(line, decoder)})"


def _is_at(place: tuple[str, int, int]) -> Expression:
    origin, block, number = place
    return (F.col("origin") == origin) & (F.col("block") == block) & (F.col("number") == number)
