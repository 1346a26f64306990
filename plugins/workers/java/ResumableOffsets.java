package cdclake;

import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Gives Debezium's events offsets behind which nothing is lost. Events may share an LSN: the rows of a COPY, the delete
 * and the insert of a changed key. When Debezium 3.7.0 resumes behind the first of them, it goes on at the next LSN.
 * This step changes two offsets, so that Debezium sends the transaction again instead: the first event of an LSN says
 * that only a BEGIN was read, and the delete of a changed key names an LSN that doesn't exist.
 */
public class ResumableOffsets implements Transformation {
    public ConfigDef config() {
        return new ConfigDef();
    }

    public void configure(Map configuration) {
    }

    public ConnectRecord apply(ConnectRecord record) {
        // A worker stores this very map. The offset of the record that a transformation returns is ignored.
        Map offset = ((SourceRecord) record).sourceOffset();
        Object events = offset.get("lsn_events_processed");
        if (events != null && ((Number) events).longValue() == 1L) {
            offset.put("messageType", "BEGIN");
        }
        // Debezium's mark of the delete; the insert is the next event.
        if (record.headers().lastWithName("__debezium.newkey") != null) {
            offset.put("lsn_proc", ((Number) offset.get("lsn_proc")).longValue() - 1L);
        }
        return record;
    }

    public void close() {
    }
}
