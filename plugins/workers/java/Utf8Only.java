package cdclake;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Changes no record, and lets no task start on a worker whose JVM doesn't write text in UTF-8. The S3 sink, and Debezium
 * where it hashes a column, take a text's bytes by the JVM's default charset: what that lacks becomes "?" in silence.
 */
public class Utf8Only implements Transformation {
    private static final String TEXT = "\u00e4\u20ac\ud83d\ude00";

    public ConfigDef config() {
        return new ConfigDef();
    }

    public void configure(Map configuration) {
        String arrived = new String(TEXT.getBytes(), StandardCharsets.UTF_8);
        if (!TEXT.equals(arrived)) {
            throw new ConnectException("this worker's JVM writes text in " + Charset.defaultCharset() + ", not in UTF-8");
        }
    }

    public ConnectRecord apply(ConnectRecord record) {
        return record;
    }

    public void close() {
    }
}
