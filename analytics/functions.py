"""Athena's functions that mean the same in DuckDB, and the parts of a statement that also do in Spark.

tests/analytics/alike/ proves each by a case with Trino's own answer; add cases with a new one. Names are sqlglot's.
"""

from collections.abc import Collection

from sqlglot import exp

# Another value each time: no case can prove them.
_FLEETING = """
currentdate currenttime currenttimestamp currentuser localtime localtimestamp rand uuid
"""
FLEETING = frozenset(_FLEETING.split())
_PROVEN = """
abs acos and anyvalue approxdistinct argmax argmin array arrayagg arraycontains arrayfilter arraymax arraymin
arrayposition arraysize arraysort arraytostring asin atan atan2 avg bitwiseandagg bitwiseoragg case cast cbrt ceil chr
coalesce concat concatws corr cos cosh count countif covarpop cumedist date dateadd datediff day dayofmonth dayofweekiso
dayofyear decode degrees denserank encode exists exp extract firstvalue flatten floor frombase64 fromiso8601date
fromiso8601timestamp geometric_mean greatest groupconcat grouping hex histogram hour if isnan json_array json_array_get
json_array_length json_size jsonarraycontains jsonextract jsonextractscalar jsonformat jsonobject kurtosis lag lastday
lastvalue lead least length levenshtein ln log logicaland logicalor lower lowerhex map map_concat map_entries map_values
mapfromentries mapkeys max md5digest millisecond min minute month nthvalue ntile nullif or pad parsejson percentrank pi
pow quarter radians rank reduce regexpcount regexpextract regexpextractall regexplike regexpreplace regexpsplit
regrintercept regrslope replace reverse round rownumber second sha2digest sin sinh skewness split splitpart sqrt
startswith stddev stddevpop stddevsamp strposition strtotime struct substring sum tan tanh timestamptrunc timetostr
timetounix tobase64 transform translate trim trunc try trycast unhex unixtotime unnest upper url_decode variance
variancepop weekofyear year yearofweek
"""
_PROVEN_IN_SPARK = """
abs add alias and argmax argmin arraycontains arraysize avg between bitwiseand bitwisenot bitwiseor bitwisexor boolean
bracket case cast coalesce column concat concatws corr count countif covarpop cte cube cumedist datatype datatypeparam
date dateadd datediff day dayofmonth dayofweekiso dayofyear denserank distinct div dpipe encode eq escape except exists
extract filter firstvalue from greatest group grouping groupingsets gt gte having hex hour identifier if ignorenulls in
intersect interval is isnan join jsonextractscalar jsonpath jsonpathkey jsonpathroot jsonpathsubscript lag lastday
lastvalue lead least length levenshtein like limit literal logicaland logicalor lower lowerhex lt lte max md5digest min
minute mod month mul neg neq not nthvalue ntile null nullif nullsafeeq nullsafeneq offset or order ordered pad paren
percentrank pow quarter rank regexpcount regexpextract regexplike regexpreplace replace reverse rollup round rownumber
second select split splitpart sqrt star startswith stddev stddevpop stddevsamp strposition strtotime sub subquery
substring sum table tablealias timestamptrunc timetostr translate trim trycast tuple union unnest upper values var
variance variancepop weekofyear where window windowspec with year
"""
# Functions allowed in a query; below, everything allowed in a derived table's query.
ASKED = frozenset(_PROVEN.split()) | FLEETING
DERIVED = frozenset(_PROVEN_IN_SPARK.split())


def name(node: exp.Expr) -> str:
    """Return sqlglot's name of a part; for a function unknown to sqlglot, the function's own name."""
    return node.name.lower() if isinstance(node, exp.Anonymous) else str(node.key)


def unproven(statement: exp.Expr, known: Collection[str], kind: type[exp.Expr]) -> exp.Expr | None:
    """Return the first part of this kind that isn't proven to be alike; None where all are."""
    return next((node for node in statement.find_all(kind) if name(node) not in known), None)
