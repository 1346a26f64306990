package cdclake;

import java.lang.management.ManagementFactory;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.ws.rs.GET;
import javax.ws.rs.Path;
import javax.ws.rs.Produces;
import javax.ws.rs.core.Response;
import org.apache.kafka.connect.rest.ConnectRestExtension;
import org.apache.kafka.connect.rest.ConnectRestExtensionContext;

/**
 * What a worker says of its own tasks: GET /cdc-lake/tasks answers 503 while one of them has failed, else 200. Kafka
 * Connect's own /health knows the worker alone. The body has per connector the worker's figures, as JMX has them: tasks
 * by state, and records a second.
 */
@Path("/cdc-lake/tasks")
@Produces("application/json")
public class WorkerHealth implements ConnectRestExtension {
    private static final String[] TASKS = {"running", "failed", "paused", "unassigned", "restarting"};
    private static final String FAILED = "connector-failed-task-count";

    public void configure(Map configuration) {
    }

    public void register(ConnectRestExtensionContext context) {
        context.configurable().register(WorkerHealth.class);
    }

    public String version() {
        return "1";
    }

    public void close() {
    }

    @GET
    public Response tasks() throws Exception {
        Map figures = new TreeMap();
        for (int i = 0; i < TASKS.length; i++) {
            add(figures, "connect-worker-metrics", "connector-" + TASKS[i] + "-task-count");
        }
        add(figures, "source-task-metrics", "source-record-write-rate");
        add(figures, "sink-task-metrics", "sink-record-send-rate");
        boolean failed = false;
        StringBuilder json = new StringBuilder("{");
        for (Iterator connectors = figures.entrySet().iterator(); connectors.hasNext();) {
            Map.Entry connector = (Map.Entry) connectors.next();
            json.append(json.length() > 1 ? "," : "").append('"').append(connector.getKey()).append("\":{");
            String separator = "";
            for (Iterator values = ((Map) connector.getValue()).entrySet().iterator(); values.hasNext();) {
                Map.Entry value = (Map.Entry) values.next();
                failed = failed || (FAILED.equals(value.getKey()) && ((Double) value.getValue()).doubleValue() > 0);
                json.append(separator).append('"').append(value.getKey()).append("\":").append(value.getValue());
                separator = ",";
            }
            json.append('}');
        }
        return Response.status(failed ? 503 : 200).entity(json.append('}').toString()).build();
    }

    /** Add a figure of all beans of a type, several of one connector together. */
    private static void add(Map figures, String type, String attribute) throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        Iterator names = server.queryNames(new ObjectName("kafka.connect:type=" + type + ",*"), null).iterator();
        while (names.hasNext()) {
            ObjectName name = (ObjectName) names.next();
            String connector = name.getKeyProperty("connector");
            double value;
            try {
                value = ((Number) server.getAttribute(name, attribute)).doubleValue();
            } catch (javax.management.JMException gone) {
                continue;
            }
            if (connector == null || Double.isNaN(value)) {
                continue;
            }
            if (connector.startsWith("\"")) {
                connector = ObjectName.unquote(connector);
            }
            Map found = (Map) figures.get(connector);
            if (found == null) {
                found = new TreeMap();
                figures.put(connector, found);
            }
            Double before = (Double) found.get(attribute);
            found.put(attribute, Double.valueOf(value + (before == null ? 0 : before.doubleValue())));
        }
    }
}
