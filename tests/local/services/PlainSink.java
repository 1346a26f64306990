package cdclake;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.sink.SinkConnector;

/** Writes JSON lines into the file that "file" names. */
public class PlainSink extends SinkConnector {
    private Map configuration;

    public String version() {
        return "1";
    }

    public void start(Map configuration) {
        this.configuration = configuration;
    }

    public Class taskClass() {
        return PlainTask.class;
    }

    public List taskConfigs(int most) {
        return Collections.singletonList(configuration);
    }

    public ConfigDef config() {
        return new ConfigDef();
    }

    public void stop() {
    }
}
