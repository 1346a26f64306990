package cdclake;

import io.debezium.config.Configuration;
import io.debezium.connector.common.CdcSourceTaskContext;
import io.debezium.connector.postgresql.PostgresConnectorTask;
import io.debezium.pipeline.ChangeEventSourceCoordinator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * Debezium takes the salt of hashed columns from the name of a property, where Kafka Connect resolves no reference: it
 * would stand in the connector's configuration for everybody who may see that. Here the name has "@salt@", and the salt
 * is the value of "hash.salt.secret", which a config provider resolves on the worker, and Debezium's log masks.
 */
public class SaltedTask extends PostgresConnectorTask {
    public CdcSourceTaskContext preStart(Configuration configuration) {
        return super.preStart(salted(configuration));
    }

    public ChangeEventSourceCoordinator start(Configuration configuration) {
        return super.start(salted(configuration));
    }

    private static Configuration salted(Configuration configuration) {
        String salt = configuration.getString("hash.salt.secret");
        if (salt == null || salt.length() < 16) {
            throw new IllegalStateException("hash.salt.secret must be a salt of 16 characters or more");
        }
        Map salted = new HashMap();
        for (Iterator names = configuration.asMap().keySet().iterator(); names.hasNext();) {
            String name = (String) names.next();
            salted.put(name.replace("@salt@", salt), configuration.getString(name));
        }
        return Configuration.from(salted);
    }
}
