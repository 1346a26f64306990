"""Gary A. Stafford's connectors for query-based capture, unchanged (docs/your-database/kafka-connect.md).

Source #3 has an extra comma there, so it isn't JSON; it is removed here. Numbers are strings, as Connect takes them.
"""

_DATABASE = {
    "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
    "connection.url": "jdbc:postgresql://db.example.com:5432/pagila",
    "connection.user": "your-username",
    "connection.password": "your-password",
    "poll.interval.ms": "5000",
    "mode": "timestamp",
    "timestamp.column.name": "last_update",
}
_KEYS = {
    "transforms": "createKey,extractInt,InsertTopic,InsertSourceDetails",
    "transforms.createKey.type": "org.apache.kafka.connect.transforms.ValueToKey",
    "transforms.createKey.fields": "address_id",
    "transforms.extractInt.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
    "transforms.extractInt.field": "address_id",
    "validate.non.null": "false",
    "transforms.InsertTopic.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.InsertTopic.topic.field": "message_topic",
    "transforms.InsertSourceDetails.type": "org.apache.kafka.connect.transforms.InsertField$Value",
}
QUERY = (
    "SELECT * FROM (SELECT a.address_id, a.address, a.address2, city.city, a.district, a.postal_code, country.country,"
    " a.phone, a.last_update FROM address AS a INNER JOIN city ON a.city_id = city.city_id INNER JOIN country ON"
    " country.country_id = city.country_id ORDER BY address_id) AS subquery"
)
SOURCE_1 = {
    **_DATABASE,
    "topic.prefix": "pagila.public.",
    "catalog.pattern": "public",
    "table.whitelist": "address, city, country",
}
SOURCE_2 = {
    **_DATABASE,
    "topic.prefix": "pagila.public.alt.",
    "catalog.pattern": "public",
    "table.whitelist": "address",
    "numeric.mapping": "best_fit",
    **_KEYS,
    "transforms.InsertSourceDetails.static.field": "message_source",
    "transforms.InsertSourceDetails.static.value": "pagila",
}
SOURCE_3 = {
    **_DATABASE,
    "topic.prefix": "pagila.query",
    "query": QUERY,
    "incrementing.column.name": "address_id",
    **_KEYS,
}
