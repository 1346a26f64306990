-- A row of up to a page stays in it as it is: to compress it would cost a sale more than to assemble half of it.
ALTER TABLE datalake.cdc_events SET (toast_tuple_target = 8160);
