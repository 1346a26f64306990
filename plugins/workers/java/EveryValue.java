package cdclake;

import io.debezium.connector.postgresql.UnchangedToastedReplicationMessageColumn;
import io.debezium.spi.converter.ConvertedField;
import io.debezium.spi.converter.CustomConverter;
import io.debezium.spi.converter.RelationalColumn;
import io.debezium.time.Date;
import io.debezium.time.ZonedTime;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Calendar;
import java.util.Collections;
import java.util.GregorianCalendar;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.errors.ConnectException;
import org.postgresql.PGStatement;

/**
 * Converts the values of types of which Debezium can't convert all, or makes others of some: by it a NULL in an array of
 * an enum or a composite, a NaN in one of numerics, or seconds in a timetz's offset ends the task, and a snapshot's
 * date loses its era. All other values become what Debezium makes of them.
 */
public class EveryValue implements CustomConverter, CustomConverter.Converter {
    // Types by their numbers in pg_type; the user's own begin with FIRST_OWN.
    private static final int DATE = 1082, TIMETZ = 1266, NUMERICS = 1231, TSVECTORS = 3643, FIRST_OWN = 16384;
    // The arrays that Debezium carries as they are, or leaves out; sorted.
    private static final int[] ITS_OWN = {
        143, 199, 629, 651, 719, 775, 791, 1000, 1001, 1002, 1003, 1005, 1007, 1009, 1014, 1015, 1016, 1017, 1018, 1019,
        1020, 1021, 1022, 1027, 1028, 1040, 1041, 1115, 1182, 1183, 1185, 1187, 1270, 1561, 1563, 2201, 2951, 3807,
        3905, 3907, 3909, 3911, 3913, 3927
    };

    private String placeholder;
    private int type;
    // What a column that takes no NULL has in an event without its value.
    private Object empty;
    private Boolean isText;

    public void configure(Properties properties) {
        placeholder = properties.getProperty("placeholder");
    }

    public void converterFor(ConvertedField field, CustomConverter.ConverterRegistration registration) {
        RelationalColumn column = (RelationalColumn) field;
        EveryValue converter = new EveryValue();
        converter.placeholder = placeholder;
        converter.type = column.nativeType();
        if (converter.type == DATE) {
            converter.register(column, registration, Date.builder(), Integer.valueOf(0));
        } else if (converter.type == TIMETZ) {
            converter.register(column, registration, ZonedTime.builder(), "00:00:00Z");
        } else if (column.jdbcType() == Types.ARRAY && !isItsOwn(column)) {
            SchemaBuilder array = SchemaBuilder.array(SchemaBuilder.OPTIONAL_STRING_SCHEMA);
            converter.register(column, registration, array, Collections.EMPTY_LIST);
        }
    }

    private static boolean isItsOwn(RelationalColumn column) {
        return Arrays.binarySearch(ITS_OWN, column.nativeType()) >= 0 || column.typeName().endsWith("_citext");
    }

    private void register(
        RelationalColumn column, CustomConverter.ConverterRegistration registration, SchemaBuilder schema, Object none
    ) {
        empty = column.isOptional() ? null : none;
        registration.register(schema, this);
    }

    public Object convert(Object value) {
        if (value == null) {
            return empty;
        }
        if (UnchangedToastedReplicationMessageColumn.isUnchangedToastedValue(value)) {
            return Collections.singletonList(placeholder);
        }
        if (value instanceof Array) {
            return elements((Array) value);
        }
        if (type == DATE) {
            return Integer.valueOf(Date.toEpochDay(withEra(value), null));
        }
        return type == TIMETZ ? inUtc((String) value) : value;
    }

    /** Tell a snapshot's date in full: Debezium looks at all of it but the era. */
    private static Object withEra(Object value) {
        if (!(value instanceof java.sql.Date)) {
            return value;
        }
        Calendar calendar = new GregorianCalendar();
        calendar.setTime((java.sql.Date) value);
        boolean isInfinite = calendar.getTimeInMillis() == PGStatement.DATE_NEGATIVE_INFINITY;
        if (isInfinite || calendar.get(Calendar.ERA) != GregorianCalendar.BC) {
            return value;
        }
        int month = calendar.get(Calendar.MONTH) + 1;
        return LocalDate.of(1 - calendar.get(Calendar.YEAR), month, calendar.get(Calendar.DAY_OF_MONTH));
    }

    /** Write PostgreSQL's text of a timetz as Debezium does; a column's default comes so already. */
    private static String inUtc(String text) {
        int sign = Math.max(text.lastIndexOf('+'), text.lastIndexOf('-'));
        if (sign < 0) {
            return text;
        }
        ZoneOffset offset = ZoneOffset.of(text.substring(sign));
        boolean isEnd = text.startsWith("24:");
        if (isEnd && offset.getTotalSeconds() == 0) {
            return "24:00:00Z";
        }
        LocalTime time = isEnd ? LocalTime.MIDNIGHT : LocalTime.parse(text.substring(0, sign));
        return ZonedTime.toIsoString(OffsetTime.of(time, offset).withOffsetSameInstant(ZoneOffset.UTC), null);
    }

    private List elements(Array array) {
        List found = texts(array.toString());
        if (!isText(array)) {
            for (int i = 0; i < found.size(); i++) {
                String text = (String) found.get(i);
                byte[] bytes = text == null ? null : text.getBytes(StandardCharsets.UTF_8);
                found.set(i, bytes == null ? null : Base64.getEncoder().encodeToString(bytes));
            }
        }
        return found;
    }

    /** Tell whether Debezium sends the elements as text: bytes of a text otherwise, in Base64. */
    private boolean isText(Array array) {
        if (isText == null) {
            try {
                boolean isEnum = type >= FIRST_OWN && array.getBaseType() == Types.VARCHAR;
                isText = Boolean.valueOf(isEnum || type == NUMERICS || type == TSVECTORS);
            } catch (java.sql.SQLException error) {
                throw new ConnectException("the database doesn't tell what an array is of", error);
            }
        }
        return isText.booleanValue();
    }

    /** Split PostgreSQL's text of an array; one within it is null, by which the job knows that it is spoiled. */
    private static List texts(String text) {
        List found = new ArrayList();
        StringBuilder one = new StringBuilder();
        boolean isQuoted = false;
        boolean isWithin = false;
        boolean isNested = false;
        int depth = 0;
        // Bounds may come first: [0:1]={a,b}.
        for (int i = text.indexOf('{') + 1; i < text.length(); i++) {
            char next = text.charAt(i);
            if (next == '\\') {
                one.append(text.charAt(++i));
            } else if (next == '"') {
                isWithin = !isWithin;
                isQuoted = true;
            } else if (isWithin) {
                one.append(next);
            } else if (next == '{') {
                depth++;
                isNested = true;
            } else if (depth > 0) {
                depth -= next == '}' ? 1 : 0;
            } else if (next == ',' || next == '}') {
                if (isQuoted || isNested || one.length() > 0) {
                    boolean isNull = isNested || (!isQuoted && "NULL".contentEquals(one));
                    found.add(isNull ? null : one.toString());
                }
                one.setLength(0);
                isQuoted = false;
                isNested = false;
            } else {
                one.append(next);
            }
        }
        return found;
    }
}
