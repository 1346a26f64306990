package cdclake;

import io.debezium.connector.postgresql.PostgresConnector;

/**
 * Debezium's PostgreSQL connector, whose task puts the salt of hashed columns in its place (SaltedTask).
 */
public class SaltedConnector extends PostgresConnector {
    public Class taskClass() {
        return SaltedTask.class;
    }
}
