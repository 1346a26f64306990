-- The walk-through of places; orders.sql says what the comments mean.

-- change: another street for address 100
UPDATE public.address SET address = '123 CDC Test Lane' WHERE address_id = 100;
-- address: address
SELECT 100;
-- address_place: address, city
SELECT 100;

-- change: an apartment for address 101
UPDATE public.address SET address2 = 'Apartment #2201' WHERE address_id = 101;
-- address: address2
SELECT 101;

-- change: another apartment for address 101
UPDATE public.address SET address2 = 'Apartment #2202' WHERE address_id = 101;
-- address: address2
SELECT 101;

-- change: insert Wakanda and Birnin Zana
INSERT INTO public.country (country) VALUES ('Wakanda');
INSERT INTO public.city (city, country_id)
    SELECT 'Birnin Zana', country_id FROM public.country WHERE country = 'Wakanda';
-- country: country
SELECT country_id FROM public.country WHERE country = 'Wakanda';
-- city: city, country_id
SELECT city_id FROM public.city WHERE city = 'Birnin Zana';

-- change: move address 102 to Birnin Zana
UPDATE public.address SET city_id = (SELECT city_id FROM public.city WHERE city = 'Birnin Zana'),
    phone = '110601102', district = 'Lake Turkana' WHERE address_id = 102;
-- address: city_id, phone, district
SELECT 102;
-- address_place: district, city, country
SELECT 102;

-- change: move all from 104, delete it
UPDATE public.customer SET address_id = 200 WHERE address_id = 104;
UPDATE public.staff SET address_id = 200 WHERE address_id = 104;
UPDATE public.store SET address_id = 200 WHERE address_id = 104;
DELETE FROM public.address WHERE address_id = 104;
-- address: address
SELECT 104;
-- address_place: address
SELECT 104;

-- change: rename the city of address 100
UPDATE public.city SET city = 'Augusta' WHERE city_id = (SELECT city_id FROM public.address WHERE address_id = 100);
-- city: city
SELECT city_id FROM public.address WHERE address_id = 100;
-- address_place: address, city
SELECT 100;
