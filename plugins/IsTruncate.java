package cdclake;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Tells Debezium's event of a TRUNCATE from all others: an envelope whose field "op" is "t". Of Kafka Connect's own
 * predicates none looks into a record. A row is no envelope, so a table's own column "op" is never looked at.
 */
public class IsTruncate implements Predicate {
    public ConfigDef config() {
        return new ConfigDef();
    }

    public void configure(Map configuration) {
    }

    public boolean test(ConnectRecord record) {
        Schema schema = record.valueSchema();
        if (schema == null || schema.name() == null || !schema.name().endsWith(".Envelope")) {
            return false;
        }
        Field operation = schema.field("op");
        return operation != null && "t".equals(((Struct) record.value()).get(operation));
    }

    public void close() {
    }
}
