package cdclake;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Gives Debezium's events offsets behind which nothing is lost. Events may share an LSN: the rows of a COPY, the delete
 * and the insert of a changed key. When Debezium 3.7.0 resumes behind the first of them, it goes on at the next LSN. Had
 * it seen no more than a BEGIN, it would send that transaction again; so the offset of a first event says that.
 */
public class ResumableOffsets implements Transformation {
    public ConfigDef config() {
        return new ConfigDef();
    }

    public void configure(Map configuration) {
    }

    public ConnectRecord apply(ConnectRecord record) {
        // A worker stores this map, not that of the record that a transformation returns.
        Map offset = ((SourceRecord) record).sourceOffset();
        Object events = offset.get("lsn_events_processed");
        if (events != null && ((Number) events).longValue() == 1L) {
            offset.put("messageType", "BEGIN");
        }
        return record;
    }

    public void close() {
    }
}
