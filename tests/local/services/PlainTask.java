package cdclake;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileOutputStream;
import java.util.Collection;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** Makes bytes of a value as the S3 sink does: by the JVM's default charset. */
public class PlainTask extends SinkTask {
    private final ObjectMapper mapper = new ObjectMapper();
    private FileOutputStream file;

    public String version() {
        return "1";
    }

    public void start(Map configuration) {
        try {
            file = new FileOutputStream((String) configuration.get("file"));
        } catch (java.io.IOException error) {
            throw new RuntimeException(error);
        }
    }

    public void put(Collection records) {
        try {
            for (Iterator each = records.iterator(); each.hasNext();) {
                file.write(mapper.writeValueAsString(((SinkRecord) each.next()).value()).getBytes());
                file.write('\n');
            }
        } catch (java.io.IOException error) {
            throw new RuntimeException(error);
        }
    }

    public void stop() {
    }
}
