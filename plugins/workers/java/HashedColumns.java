package cdclake;

import io.debezium.connector.postgresql.UnchangedToastedReplicationMessageColumn;
import io.debezium.spi.converter.ConvertedField;
import io.debezium.spi.converter.CustomConverter;
import io.debezium.spi.converter.RelationalColumn;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.errors.ConnectException;

/**
 * Hashes texts as Debezium's column.mask.hash.v2 does: the SHA-256 of a salt and the text, in hexadecimal digits, cut to
 * the column's length. Debezium's own also hashes the placeholder of an unchanged large value, and takes the salt from
 * a property's name, where Kafka Connect resolves no reference.
 */
public class HashedColumns implements CustomConverter, CustomConverter.Converter {
    private static final int DIGITS = 64;

    private Pattern columns;
    private String placeholder;
    private String salt;
    private int length;
    // What a column that takes no NULL has in an event without its value.
    private String empty;

    public void configure(Properties properties) {
        columns = Pattern.compile(properties.getProperty("columns").replace(',', '|'));
        placeholder = properties.getProperty("placeholder");
        salt = properties.getProperty("salt.secret");
        if (salt == null || salt.length() < 16) {
            throw new ConnectException("hashed.salt.secret must be a salt of 16 characters or more");
        }
    }

    public void converterFor(ConvertedField field, CustomConverter.ConverterRegistration registration) {
        RelationalColumn column = (RelationalColumn) field;
        if (!columns.matcher(column.dataCollection() + "." + column.name()).matches()) {
            return;
        }
        HashedColumns converter = new HashedColumns();
        converter.placeholder = placeholder;
        converter.salt = salt;
        int length = column.length().orElse(DIGITS);
        converter.length = length > 0 ? Math.min(length, DIGITS) : DIGITS;
        converter.empty = column.isOptional() ? null : "";
        registration.register(SchemaBuilder.string(), converter);
    }

    public Object convert(Object value) {
        if (value == null) {
            return empty;
        }
        if (UnchangedToastedReplicationMessageColumn.isUnchangedToastedValue(value)) {
            return placeholder;
        }
        // Fails for another type than text: the value's text might not be PostgreSQL's.
        byte[] text = (salt + (String) value).getBytes(StandardCharsets.UTF_8);
        try {
            BigInteger hash = new BigInteger(1, MessageDigest.getInstance("SHA-256").digest(text));
            return String.format("%064x", new Object[] {hash}).substring(0, length);
        } catch (NoSuchAlgorithmException error) {
            throw new ConnectException("the JVM has no SHA-256", error);
        }
    }
}
