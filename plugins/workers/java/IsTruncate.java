package cdclake;

import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Tells Debezium's event of a TRUNCATE from all others: an envelope whose field "op" is "t". Of Kafka Connect's own
 * predicates none looks into a record. A row is no envelope, so a table's own column "op" is never looked at. One of a
 * topic that "stops" matches ends the task, and its reason names the topic.
 */
public class IsTruncate implements Predicate {
    private Pattern stops = null;

    public ConfigDef config() {
        return new ConfigDef().define(
            "stops", ConfigDef.Type.STRING, "", ConfigDef.Importance.HIGH, "Topics, whole, as a regular expression."
        );
    }

    public void configure(Map configuration) {
        Object given = configuration.get("stops");
        stops = Pattern.compile(given == null ? "" : (String) given);
    }

    public boolean test(ConnectRecord record) {
        Schema schema = record.valueSchema();
        if (schema == null || schema.name() == null || !schema.name().endsWith(".Envelope")) {
            return false;
        }
        Field operation = schema.field("op");
        boolean found = operation != null && "t".equals(((Struct) record.value()).get(operation));
        if (found && stops.matcher(record.topic()).matches()) {
            throw new ConnectException(record.topic() + " was emptied by TRUNCATE");
        }
        return found;
    }

    public void close() {
    }
}
