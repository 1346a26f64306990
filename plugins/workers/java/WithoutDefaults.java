package cdclake;

import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Takes the columns' defaults out of the schemas of Debezium's rows: Kafka Connect reads a NULL of a column with a
 * DEFAULT as that default, in each transformation and converter, and not all of them can be told not to.
 */
public class WithoutDefaults implements Transformation {
    // Debezium makes a table's schema once, and again when it changes.
    private static final int MOST = 10000;
    private final Map known = new IdentityHashMap();

    public ConfigDef config() {
        return new ConfigDef();
    }

    public void configure(Map configuration) {
    }

    public ConnectRecord apply(ConnectRecord record) {
        Schema given = record.valueSchema();
        if (given == null || given.name() == null || !given.name().endsWith(".Envelope")) {
            return record;
        }
        Schema bare = (Schema) known.get(given);
        if (bare == null) {
            if (known.size() >= MOST) {
                known.clear();
            }
            bare = envelope(given);
            known.put(given, bare);
        }
        if (bare == given) {
            return record;
        }
        return record.newRecord(
            record.topic(), record.kafkaPartition(), record.keySchema(), record.key(), bare,
            copy((Struct) record.value(), bare), record.timestamp(), record.headers()
        );
    }

    public void close() {
    }

    private static boolean isRow(Field field) {
        return "before".equals(field.name()) || "after".equals(field.name());
    }

    private static Schema envelope(Schema given) {
        boolean same = true;
        SchemaBuilder made = like(given);
        for (Iterator fields = given.fields().iterator(); fields.hasNext();) {
            Field field = (Field) fields.next();
            Schema schema = isRow(field) ? row(field.schema()) : field.schema();
            same = same && schema == field.schema();
            made.field(field.name(), schema);
        }
        return same ? given : made.build();
    }

    private static Schema row(Schema given) {
        boolean same = true;
        SchemaBuilder made = like(given);
        for (Iterator fields = given.fields().iterator(); fields.hasNext();) {
            Field field = (Field) fields.next();
            boolean plain = field.schema().defaultValue() == null;
            same = same && plain;
            made.field(field.name(), plain ? field.schema() : like(field.schema()).build());
        }
        return same ? given : made.build();
    }

    /** Begin a schema that has everything of another's but its fields and its default. */
    private static SchemaBuilder like(Schema given) {
        SchemaBuilder made;
        if (given.type() == Schema.Type.ARRAY) {
            made = SchemaBuilder.array(given.valueSchema());
        } else if (given.type() == Schema.Type.MAP) {
            made = SchemaBuilder.map(given.keySchema(), given.valueSchema());
        } else {
            made = new SchemaBuilder(given.type());
        }
        made.name(given.name()).version(given.version()).doc(given.doc());
        if (given.parameters() != null) {
            made.parameters(given.parameters());
        }
        return given.isOptional() ? made.optional() : made;
    }

    private static Struct copy(Struct given, Schema schema) {
        Struct made = new Struct(schema);
        for (Iterator fields = schema.fields().iterator(); fields.hasNext();) {
            Field field = (Field) fields.next();
            Object value = given.getWithoutDefault(field.name());
            boolean isRow = isRow(field) && value != null && given.schema().name().endsWith(".Envelope");
            made.put(field, isRow ? copy((Struct) value, field.schema()) : value);
        }
        return made;
    }
}
