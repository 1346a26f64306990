-- Sample rows in the shape of Northwind's tables, with names of our own (docs/decisions/0013).

COPY us_states (state_id, state_name, state_abbr, state_region) FROM stdin;
1	Alabama	AL	south
2	Alaska	AK	west
3	Arizona	AZ	west
4	Arkansas	AR	south
5	California	CA	west
6	Colorado	CO	west
7	Connecticut	CT	northeast
8	Delaware	DE	south
9	District of Columbia	DC	south
10	Florida	FL	south
11	Georgia	GA	south
12	Hawaii	HI	west
13	Idaho	ID	west
14	Illinois	IL	midwest
15	Indiana	IN	midwest
16	Iowa	IA	midwest
17	Kansas	KS	midwest
18	Kentucky	KY	south
19	Louisiana	LA	south
20	Maine	ME	northeast
21	Maryland	MD	south
22	Massachusetts	MA	northeast
23	Michigan	MI	midwest
24	Minnesota	MN	midwest
25	Mississippi	MS	south
26	Missouri	MO	midwest
27	Montana	MT	west
28	Nebraska	NE	midwest
29	Nevada	NV	west
30	New Hampshire	NH	northeast
31	New Jersey	NJ	northeast
32	New Mexico	NM	west
33	New York	NY	northeast
34	North Carolina	NC	south
35	North Dakota	ND	midwest
36	Ohio	OH	midwest
37	Oklahoma	OK	south
38	Oregon	OR	west
39	Pennsylvania	PA	northeast
40	Rhode Island	RI	northeast
41	South Carolina	SC	south
42	South Dakota	SD	midwest
43	Tennessee	TN	south
44	Texas	TX	south
45	Utah	UT	west
46	Vermont	VT	northeast
47	Virginia	VA	south
48	Washington	WA	west
49	West Virginia	WV	south
50	Wisconsin	WI	midwest
51	Wyoming	WY	west
\.

COPY region (region_id, region_description) FROM stdin;
1	Eastern
2	Western
3	Northern
4	Southern
\.

COPY territories (territory_id, territory_description, region_id) FROM stdin;
10815	Albany	1
14423	Allentown	1
15057	Bangor	1
15124	Burlington	1
18334	Camden	1
18584	Concord	1
18685	Dover	1
19871	Hartford	1
22648	Lowell	1
22728	Nashua	1
23135	Newark	1
24226	Providence	1
24631	Scranton	1
25264	Trenton	1
26376	Yonkers	1
27276	Worcester	1
30212	Bakersfield	2
33997	Boulder	2
38340	Carson	2
43431	Eugene	2
44515	Fresno	2
46215	Helena	2
50220	Olympia	2
50293	Oxnard	2
51818	Reno	2
56973	Salem	2
57424	Spokane	2
57989	Tacoma	2
58133	Tempe	2
58545	Yuma	2
59188	Akron	3
60782	Ames	3
62099	Bismarck	3
64235	Dayton	3
71563	Duluth	3
74334	Fargo	3
75393	Flint	3
76774	Gary	3
77440	Lansing	3
77813	Madison	3
81471	Omaha	3
81677	Peoria	3
81820	Topeka	3
87027	Augusta	4
87321	Biloxi	4
88051	Jackson	4
88539	Lubbock	4
90126	Macon	4
92465	Mobile	4
95058	Norfolk	4
95169	Raleigh	4
97773	Tulsa	4
98761	Waco	4
\.

COPY employees (employee_id, last_name, first_name, title, title_of_courtesy, birth_date, hire_date, address, city, region, postal_code, country, home_phone, extension, photo, notes, reports_to, photo_path) FROM stdin;
1	Ashdown	Oscar	Sales Representative	Ms.	1947-06-26	1994-11-21	86 Harbour Row	Bristol	Avon	BS1 6LT	UK	(117) 864-6377	8769	\N	Oscar knows the shelves of most customers by heart and answers every letter within a day.	2	staff/ashdown.png
2	Okafor	Astrid	Head of Sales	Ms.	1958-10-12	1993-10-27	774 Lake Avenue	Duluth	MN	55876	USA	(218) 555-3181	2349	\N	Astrid knows the shelves of most customers by heart and answers every letter within a day.	\N	staff/okafor.png
3	Lindqvist	Greta	Sales Representative	Ms.	1938-10-12	1993-07-09	276 Lake Avenue	Duluth	MN	55871	USA	(218) 555-4164	1694	\N	Greta knows the shelves of most customers by heart and answers every letter within a day.	2	staff/lindqvist.png
4	Moretti	Selma	Sales Representative	Ms.	1954-01-06	1992-06-24	389 River Street	Portland	OR	97289	USA	(503) 555-8658	9261	\N	Selma knows the shelves of most customers by heart and answers every letter within a day.	2	staff/moretti.png
5	Buchanan	Hugo	Sales Manager	Mr.	1965-03-15	1993-11-05	567 Oak Square	Savannah	GA	31418	USA	(912) 555-5417	2832	\N	Hugo knows the shelves of most customers by heart and answers every letter within a day.	2	staff/buchanan.png
6	Szabo	Maren	Sales Representative	Ms.	1940-11-24	1994-03-26	266 Lake Avenue	Duluth	MN	55891	USA	(218) 555-3183	4799	\N	Maren knows the shelves of most customers by heart and answers every letter within a day.	5	staff/szabo.png
7	Kimura	Ivo	Sales Representative	Ms.	1960-03-14	1992-11-05	493 Canyon Avenue	Boise	ID	83733	USA	(208) 555-2614	4346	\N	Ivo knows the shelves of most customers by heart and answers every letter within a day.	5	staff/kimura.png
8	Delacroix	Ida	Inside Sales Coordinator	Dr.	1955-09-18	1994-12-26	677 River Street	Portland	OR	97234	USA	(503) 555-9185	3618	\N	Ida knows the shelves of most customers by heart and answers every letter within a day.	2	staff/delacroix.png
9	Hartwell	Clara	Sales Representative	Mr.	1959-03-06	1993-12-21	232 Canyon Avenue	Boise	ID	83751	USA	(208) 555-3273	2857	\N	Clara knows the shelves of most customers by heart and answers every letter within a day.	5	staff/hartwell.png
\.

COPY employee_territories (employee_id, territory_id) FROM stdin;
1	18334
1	25264
1	50220
1	50293
1	60782
1	90126
2	19871
2	30212
2	44515
2	57989
2	64235
2	81820
3	18584
3	23135
3	24631
3	59188
3	62099
3	95169
4	15124
4	22648
4	51818
4	58545
4	81471
4	98761
5	10815
5	15057
5	38340
5	71563
5	87321
6	33997
6	74334
6	76774
6	77813
6	88051
7	14423
7	18685
7	24226
7	88539
7	92465
8	22728
8	27276
8	46215
8	57424
8	58133
9	26376
9	75393
9	81677
9	87027
9	95058
\.

COPY customers (customer_id, company_name, contact_name, contact_title, address, city, region, postal_code, country, phone, fax) FROM stdin;
ABAPU	Abarrotes Aldana	Marta Salo	Purchasing Clerk	Calle Jacaranda 12	Puebla	\N	72532	Mexico	(22) 457-9998	(22) 829-5963
ABVPU	Abarrotes Valdez	Ruben Valdez	Owner	Calle Jacaranda 57	Puebla	\N	72521	Mexico	(22) 568-5242	\N
ALDAR	Aldana & Daughters	Amélie Keller	Head Buyer	Havnegade 21	Århus	\N	8045	Denmark	86 13 25 62	86 32 33 37
ALWRO	Almacén Walsh	Tomás Fontaine	Owner	Avenida del Río 79	Rosario	\N	S2015	Argentina	(341) 554-6671	(341) 922-2839
BADDU	Bakke & Daughters	Jonas Lind	Kitchen Manager	982 Lake Avenue	Duluth	MN	55881	USA	(218) 555-3163	(218) 555-8683
BAPBO	The Bakke Pantry	Nora Castro	Kitchen Manager	882 Canyon Avenue	Boise	ID	83766	USA	(208) 555-2819	(208) 555-1848
BEPAN	The Bellini Pantry	Nora Fontaine	Accounts Manager	Schoenmarkt 11	Antwerpen	\N	2089	Belgium	(03) 294 76 65	(03) 374 56 52
BOSME	Bodega Sandoval	Rosa Vogel	Purchasing Clerk	Avenida Sucre 17	Mérida	\N	5118	Venezuela	(74) 465-4692	(74) 597-4884
BOUME	Bodega Urquhart	Dario Zamora	Head Buyer	Avenida Sucre 65	Mérida	\N	5156	Venezuela	(74) 252-1447	(74) 356-2791
CACPO	Casa Castro	Greta Walsh	Head Buyer	Rua da Ribeira 24	Porto	\N	4143	Portugal	(2) 591-1424	(2) 585-9556
CADPO	Castro & Daughters	Chiara Fontaine	Head Buyer	645 River Street	Portland	OR	97275	USA	(503) 555-8473	\N
CAGPO	Casa Greco	Felix Greco	Store Manager	Rua da Ribeira 56	Porto	\N	4123	Portugal	(2) 427-8476	(2) 452-2914
CAJSE	Casa Jansen	Tomás Pinto	Head Buyer	Calle Azahar 87	Sevilla	\N	41023	Spain	(95) 681 69 34	(95) 862 66 41
CAKPU	Casa Keller	Carmen Pinto	Store Manager	Calle Jacaranda 73	Puebla	\N	72498	Mexico	(22) 423-3229	(22) 124-1851
CAMSE	Casa Moreau	Hugo Castro	Accounts Manager	Calle Azahar 41	Sevilla	\N	41041	Spain	(95) 627 89 46	\N
CAQPU	Casa Quiroga	Luca Thorne	Owner	Calle Jacaranda 41	Puebla	\N	72962	Mexico	(22) 984-3687	(22) 324-8311
DADMA	Dahl & Daughters	Marta Kowal	Store Manager	Ängsvägen 77	Malmö	\N	212 17	Sweden	040-44 86 13	040-42 29 49
DRETO	Drogheria Eklund	Maren Castro	Kitchen Manager	Via dei Colli 79	Torino	\N	10158	Italy	011-3669873	011-6825547
DRFTO	Drogheria Ferreira	Ivo Ferreira	Head Buyer	Via dei Colli 94	Torino	\N	10119	Italy	011-9516794	011-8219612
EKPCO	The Eklund Pantry	Marta Laurent	Head Buyer	51 Quay Street	Cork	\N	T12 62	Ireland	21 658 7456	21 769 8363
EMHSA	Empório Holm	Jonas Dahl	Purchasing Clerk	Rua das Flores, 87	São Paulo	SP	01495-038	Brazil	(11) 346-8329	(11) 627-4132
EMKSA	Empório Kowal	Esther Lopes	Accounts Manager	Rua das Flores, 63	São Paulo	SP	01735-086	Brazil	(11) 463-9637	(11) 749-9682
EMSSA	Empório Sandoval	Maren Valdez	Head Buyer	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil	(11) 321-4612	\N
EMWSA	Empório Weber	Jonas Ferreira	Owner	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil	(11) 753-9236	\N
EPBNA	Épicerie Berg	Hugo Urquhart	Store Manager	84 rue de la Mer	Nantes	\N	44081	France	40.44.89.26	40.57.82.24
EPDNA	Épicerie Dahl	Ruben Rossi	Accounts Manager	38 rue de la Mer	Nantes	\N	44016	France	40.11.41.16	\N
EPELY	Épicerie Eklund	Lina Aldana	Accounts Manager	88 quai du Rhône	Lyon	\N	69083	France	78.57.45.44	78.15.85.26
EPKNA	Épicerie Kowal	Leonor Olsen	Head Buyer	74 rue de la Mer	Nantes	\N	44079	France	40.49.13.13	\N
EPRNA	Épicerie Rossi	Lina Dahl	Purchasing Clerk	36 rue de la Mer	Nantes	\N	44032	France	40.12.56.85	40.65.45.46
FAPVA	The Falk Pantry	Bruno Kowal	Accounts Manager	21 Cedar Street	Vancouver	BC	V6C 9D5	Canada	(604) 555-2185	(604) 555-3797
FEDAR	Ferreira & Daughters	Paula Salo	Purchasing Clerk	Havnegade 53	Århus	\N	8087	Denmark	86 33 87 19	86 47 84 93
FOPBE	Fontaine Provisions	Pavel Weber	Store Manager	Fjordveien 88	Bergen	\N	5082	Norway	55 55 29 92	\N
GAHMU	Gasthaus Holm	Hugo Jansen	Kitchen Manager	Salzstraße 75	Münster	\N	48587	Germany	0251-235523	\N
GALKO	Gasthaus Laurent	Edda Weber	Head Buyer	Rheinufer 11	Köln	\N	50982	Germany	0221-628712	\N
GAMKO	Gasthaus Meier	Esther Weber	Kitchen Manager	Rheinufer 31	Köln	\N	50274	Germany	0221-966479	0221-617937
GATKO	Gasthaus Tanaka	Luca Aldana	Head Buyer	Rheinufer 77	Köln	\N	50861	Germany	0221-348514	\N
GAUMU	Gasthaus Urquhart	Anselm Lopes	Owner	Salzstraße 61	Münster	\N	48551	Germany	0251-456725	0251-666622
GRFGE	Greco Feinkost	Clara Castro	Head Buyer	Rue du Lac 61	Genève	\N	1299	Switzerland	0022-944327	0022-281827
HADOU	Haas & Daughters	Anselm Kowal	Purchasing Clerk	Satamakatu 86	Oulu	\N	90177	Finland	981-633494	981-912462
HAPAN	The Haas Pantry	Milo Dahl	Purchasing Clerk	Schoenmarkt 84	Antwerpen	\N	2087	Belgium	(03) 514 79 52	(03) 833 43 36
HOPMA	The Holm Pantry	Elias Olsen	Store Manager	Ängsvägen 91	Malmö	\N	215 88	Sweden	040-73 49 77	\N
IVPPO	Iversen Provisions	Lina Aldana	Store Manager	232 River Street	Portland	OR	97278	USA	(503) 555-5532	(503) 555-7391
JAPBR	Jansen Provisions	Rosa Tanaka	Owner	48 Harbour Row	Bristol	Avon	BS5 4LT	UK	(117) 771-8612	(117) 539-9911
KEPAN	Keller Provisions	Felix Moreau	Kitchen Manager	Schoenmarkt 15	Antwerpen	\N	2038	Belgium	(03) 527 43 97	\N
KODCO	Kowal & Daughters	Selma Rossi	Owner	41 Quay Street	Cork	\N	T12 97	Ireland	21 424 3818	21 157 2795
LAPVA	Laurent Provisions	Bruno Eklund	Owner	73 Cedar Street	Vancouver	BC	V8C 5D1	Canada	(604) 555-5466	(604) 555-8296
LIDBO	Lind & Daughters	Ruben Aldana	Owner	477 Canyon Avenue	Boise	ID	83785	USA	(208) 555-2311	(208) 555-2257
LIFBE	Lind Feinkost	Paula Sandoval	Head Buyer	Brunnengasse 75	Bern	\N	3026	Switzerland	0031-652261	\N
LOPAN	Lopes Provisions	Tomás Castro	Accounts Manager	Schoenmarkt 96	Antwerpen	\N	2021	Belgium	(03) 756 57 45	(03) 131 74 53
LOPOU	The Lopes Pantry	Ines Meier	Accounts Manager	Satamakatu 61	Oulu	\N	90373	Finland	981-553191	981-615319
MAALY	Maison Aldana	Hugo Lopes	Kitchen Manager	11 quai du Rhône	Lyon	\N	69012	France	78.78.25.21	78.61.85.41
MABRE	Maison Bakke	Ida Iversen	Head Buyer	13 rue des Tonneliers	Reims	\N	51113	France	26.22.84.55	26.37.83.21
MADLY	Maison Duarte	Pavel Sandoval	Kitchen Manager	24 quai du Rhône	Lyon	\N	69037	France	78.22.88.31	\N
MADMO	Marchetti & Daughters	Elias Yates	Accounts Manager	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada	(514) 555-2146	(514) 555-4118
MADNA	Maison Dahl	Dario Keller	Head Buyer	45 rue de la Mer	Nantes	\N	44095	France	40.75.48.58	\N
MAFKO	Markthalle Fontaine	Nora Falk	Head Buyer	Rheinufer 75	Köln	\N	50532	Germany	0221-863562	\N
MAIKO	Markthalle Iversen	Carmen Greco	Accounts Manager	Rheinufer 17	Köln	\N	50144	Germany	0221-493749	\N
MALLE	Markthalle Laurent	Elias Nowak	Store Manager	Lindenallee 29	Leipzig	\N	04633	Germany	0341-632437	0341-464825
MAMKO	Markthalle Moreau	Chiara Walsh	Kitchen Manager	Rheinufer 19	Köln	\N	50195	Germany	0221-139562	\N
MAMNA	Maison Marchetti	Milo Laurent	Head Buyer	99 rue de la Mer	Nantes	\N	44041	France	40.36.99.61	\N
MAPDU	The Marchetti Pantry	Felix Marchetti	Kitchen Manager	557 Lake Avenue	Duluth	MN	55857	USA	(218) 555-7753	\N
MAQRE	Maison Quiroga	Clara Lind	Kitchen Manager	66 rue des Tonneliers	Reims	\N	51124	France	26.83.11.55	\N
MASKO	Markthalle Steiner	Nils Steiner	Kitchen Manager	Rheinufer 13	Köln	\N	50186	Germany	0221-725818	0221-995297
MATKO	Markthalle Thorne	Carmen Salo	Owner	Rheinufer 93	Köln	\N	50417	Germany	0221-424441	0221-881627
MAWMU	Markthalle Walsh	Ida Moreau	Accounts Manager	Salzstraße 83	Münster	\N	48368	Germany	0251-538816	0251-172883
MAZMU	Markthalle Zamora	Oscar Weber	Kitchen Manager	Salzstraße 15	Münster	\N	48152	Germany	0251-216775	0251-284738
MEPAN	The Meier Pantry	Edda Dahl	Owner	Schoenmarkt 84	Antwerpen	\N	2067	Belgium	(03) 271 28 87	\N
MEPPO	Mercearia Pinto	Chiara Meier	Head Buyer	Rua da Ribeira 44	Porto	\N	4292	Portugal	(2) 274-9756	(2) 935-7936
MODCO	Moreau & Daughters	Emil Bakke	Accounts Manager	24 Quay Street	Cork	\N	T12 93	Ireland	21 514 8179	21 979 6162
NOPBR	The Nowak Pantry	Clara Lopes	Owner	68 Harbour Row	Bristol	Avon	BS8 3LT	UK	(117) 679-8559	\N
OLPBR	Olsen Provisions	Selma Urquhart	Kitchen Manager	23 Harbour Row	Bristol	Avon	BS1 7LT	UK	(117) 186-7186	\N
PIDGR	Pinto Delikatessen	Dario Haas	Head Buyer	Murgasse 13	Graz	\N	8072	Austria	0316-173359	0316-488878
QUPDU	Quiroga Provisions	Astrid Moreau	Accounts Manager	594 Lake Avenue	Duluth	MN	55877	USA	(218) 555-2774	(218) 555-4123
RATTC	Rattlesnake Canyon Grocery	Pavel Tanaka	Purchasing Clerk	278 Mesa Road	Albuquerque	NM	87164	USA	(505) 555-7311	(505) 555-5452
RICSU	Richter Supermarkt	Milo Lopes	Purchasing Clerk	Rue du Lac 11	Genève	\N	1215	Switzerland	0022-728257	0022-285564
RODKR	Rossi & Daughters	Ivo Bellini	Kitchen Manager	ul. Długa 92	Kraków	\N	31-535	Poland	(12) 356-54-52	(12) 255-26-33
ROPKR	Rossi Provisions	Karin Keller	Kitchen Manager	ul. Długa 52	Kraków	\N	31-137	Poland	(12) 916-73-61	(12) 571-25-37
SAPMO	The Sandoval Pantry	Dario Vogel	Store Manager	84 rue Saint-Gabriel	Montréal	Québec	H9A 7B4	Canada	(514) 555-9574	(514) 555-7234
TAPSA	The Tanaka Pantry	Nora Thorne	Purchasing Clerk	674 Oak Square	Savannah	GA	31497	USA	(912) 555-9287	(912) 555-9332
TAPVA	Tanaka Provisions	Astrid Ferreira	Accounts Manager	37 Cedar Street	Vancouver	BC	V6C 9D2	Canada	(604) 555-2735	(604) 555-1696
THPOU	Thorne Provisions	Ada Steiner	Purchasing Clerk	Satamakatu 56	Oulu	\N	90251	Finland	981-569989	981-329934
VADBR	Valdez & Daughters	Luca Valdez	Owner	44 Harbour Row	Bristol	Avon	BS9 7LT	UK	(117) 772-4476	(117) 947-8623
VAPCO	Valdez Provisions	Lars Thorne	Owner	77 Quay Street	Cork	\N	T12 42	Ireland	21 413 5111	21 779 3378
VINET	Vins et alcools Chevalier	Emil Salo	Kitchen Manager	86 rue des Tonneliers	Reims	\N	51443	France	26.11.98.48	26.98.72.66
VOFGE	Vogel Feinkost	Hanna Vogel	Accounts Manager	Rue du Lac 14	Genève	\N	1275	Switzerland	0022-514521	0022-548425
WAPOU	The Walsh Pantry	Esther Keller	Owner	Satamakatu 28	Oulu	\N	90712	Finland	981-554133	981-376383
WEDKR	Weber & Daughters	Ada Haas	Store Manager	ul. Długa 25	Kraków	\N	31-229	Poland	(12) 256-57-23	(12) 512-63-24
WEPMA	Weber Provisions	Astrid Vogel	Owner	Ängsvägen 36	Malmö	\N	211 85	Sweden	040-43 72 58	040-83 47 94
YADAN	Yates & Daughters	Bruno Iversen	Owner	Schoenmarkt 89	Antwerpen	\N	2084	Belgium	(03) 924 62 16	(03) 899 12 41
YAPAR	Yates Provisions	Amélie Moreau	Store Manager	Havnegade 44	Århus	\N	8074	Denmark	86 63 81 82	86 71 73 48
ZAPMA	Zamora Provisions	Nils Iversen	Accounts Manager	Ängsvägen 72	Malmö	\N	213 72	Sweden	040-41 55 68	040-95 79 97
\.

COPY shippers (shipper_id, company_name, phone) FROM stdin;
1	Greyhound Parcels	(503) 555-2163
2	United Overland	(503) 555-8682
3	Federal Shipping	(503) 555-9944
4	Tidewater Freight	(503) 555-7835
5	Alpine Couriers	(503) 555-4482
6	Lighthouse Mail	(503) 555-2911
\.

COPY categories (category_id, category_name, description, picture) FROM stdin;
1	Beverages	What is poured: coffee, tea, juice, beer and wine	\N
2	Condiments	What makes plain food better: sauces, spreads and spices	\N
3	Confections	Sweets, biscuits and whatever comes after dinner	\N
4	Dairy Products	Cheese, butter and cultured milk	\N
5	Grains/Cereals	Bread, noodles, rice and meal	\N
6	Meat/Poultry	Cured, smoked and potted meat	\N
7	Produce	Dried fruit, beans and vegetables in jars	\N
8	Seafood	Fish and shellfish, smoked or in tins	\N
\.

COPY suppliers (supplier_id, company_name, contact_name, contact_title, address, city, region, postal_code, country, phone, fax, homepage) FROM stdin;
1	Duarte Cooperative	Edda Falk	Order Desk	Ängsvägen 25	Malmö	\N	216 75	Sweden	040-96 18 32	\N	\N
2	Tanaka & Sons	Nils Lind	Sales Agent	165 River Street	Portland	OR	97232	USA	(503) 555-9847	(503) 555-9375	\N
3	Brothers Salo	Greta Eklund	Export Manager	56 rue de la Mer	Nantes	\N	44053	France	40.43.13.96	\N	\N
4	Brothers Walsh	Emil Duarte	Sales Agent	23 quai du Rhône	Lyon	\N	69039	France	78.13.51.39	78.85.11.15	\N
5	Moreau & Sons	Hugo Quiroga	Sales Agent	42 Harbour Row	Bristol	Avon	BS4 4LT	UK	(117) 491-7157	\N	\N
6	Yates Trading	Lars Ferreira	Export Manager	Via dei Colli 93	Torino	\N	10151	Italy	011-9397256	\N	\N
7	Keller & Sons	Nora Bellini	Sales Agent	Satamakatu 55	Oulu	\N	90947	Finland	981-539949	981-247263	\N
8	Weber Trading	Astrid Pinto	Order Desk	72 rue Saint-Gabriel	Montréal	Québec	H7A 1B9	Canada	(514) 555-1942	\N	\N
9	Kowal & Sons	Ida Nowak	Export Manager	74 Quay Street	Cork	\N	T12 61	Ireland	21 838 3229	\N	\N
10	Falk Foods	Esther Ferreira	Order Desk	57 Cedar Street	Vancouver	BC	V2C 1D1	Canada	(604) 555-1792	\N	\N
11	Eklund Trading	Esther Holm	Order Desk	Rheinufer 44	Köln	\N	50727	Germany	0221-865729	0221-785647	\N
12	Urquhart Cooperative	Rosa Valdez	Owner	Rheinufer 56	Köln	\N	50694	Germany	0221-962923	\N	\N
13	Brothers Castro	Paula Falk	Owner	ul. Długa 58	Kraków	\N	31-836	Poland	(12) 991-22-73	(12) 298-97-57	https://castro.example
14	Fontaine Foods	Ivo Quiroga	Owner	Schoenmarkt 27	Antwerpen	\N	2025	Belgium	(03) 137 48 53	(03) 564 46 44	\N
15	Dahl Foods	Astrid Rossi	Owner	73 Harbour Row	Bristol	Avon	BS2 3LT	UK	(117) 374-3156	\N	\N
16	Brothers Lopes	Edda Duarte	Sales Agent	Via dei Colli 34	Torino	\N	10119	Italy	011-2389619	\N	\N
17	Rossi & Sons	Amélie Valdez	Owner	Calle Azahar 31	Sevilla	\N	41042	Spain	(95) 142 94 42	(95) 113 88 95	https://rossi.example
18	Ferreira & Sons	Ruben Keller	Export Manager	Schoenmarkt 99	Antwerpen	\N	2099	Belgium	(03) 241 42 41	(03) 633 29 91	\N
19	Quiroga Foods	Felix Weber	Order Desk	Murgasse 42	Graz	\N	8049	Austria	0316-412555	\N	\N
20	Sandoval Foods	Amélie Nowak	Owner	198 Oak Square	Savannah	GA	31451	USA	(912) 555-8979	(912) 555-9484	\N
21	Pinto & Sons	Hugo Falk	Sales Agent	Havnegade 54	Århus	\N	8077	Denmark	86 41 65 55	86 87 52 76	\N
22	Laurent Cooperative	Edda Lopes	Export Manager	Rua da Ribeira 38	Porto	\N	4574	Portugal	(2) 954-4835	\N	\N
23	Brothers Bakke	Ida Vogel	Owner	68 rue Saint-Gabriel	Montréal	Québec	H9A 9B8	Canada	(514) 555-6743	\N	https://bakke.example
24	Haas Trading	Elias Holm	Order Desk	192 Canyon Avenue	Boise	ID	83755	USA	(208) 555-9568	(208) 555-7274	\N
25	Holm Foods	Oscar Kowal	Sales Agent	Calle Jacaranda 14	Puebla	\N	72645	Mexico	(22) 222-9435	(22) 877-5628	\N
26	Lind & Sons	Lina Dahl	Sales Agent	519 River Street	Portland	OR	97277	USA	(503) 555-3314	(503) 555-7891	\N
27	Bellini Foods	Ines Holm	Export Manager	24 rue des Tonneliers	Reims	\N	51349	France	26.76.85.61	26.83.82.55	\N
28	Aldana Foods	Leonor Thorne	Export Manager	99 rue des Tonneliers	Reims	\N	51178	France	26.39.74.92	\N	https://aldana.example
29	Vogel & Sons	Luca Salo	Sales Agent	Rue du Lac 31	Genève	\N	1238	Switzerland	0022-471458	0022-934788	\N
\.

COPY products (product_id, product_name, supplier_id, category_id, quantity_per_unit, unit_price, units_in_stock, units_on_order, reorder_level, discontinued) FROM stdin;
1	Old Mill Goat Curd	9	4	97 - 145 ml bottles	19.33	56	70	10	0
2	Blue Door Ginger Ale	12	1	72 - 181 ml bottles	19.0	4	0	15	0
3	Northern Cherry Liqueur	8	1	29 - 8 kg pkgs.	14.67	5	0	0	0
4	Harbour Whey Caramel	11	4	49 - 454 g jars	8.7	3	30	15	0
5	Blue Door Smoked Mackerel	23	8	63 - 688 ml bottles	6.19	65	30	25	0
6	Orchard Fennel Salami	24	6	82 tins	9.24	8	0	0	0
7	Northern Mustard Seed Relish	21	2	21 - 178 ml bottles	77.41	29	0	15	0
8	Blue Door Air-Dried Beef	2	6	46 boxes x 15 pcs	56.03	94	30	10	0
9	Orchard Harissa	20	2	71 - 7 kg pkgs.	24.06	0	0	10	0
10	Harbour Roast Barley Drink	5	1	34 - 131 g jars	10.68	52	70	30	0
11	Queso Cabrales	26	4	13 - 7 kg pkgs.	21.0	109	0	25	0
12	Lantern Polenta	24	5	29 - 8 kg pkgs.	8.3	111	0	5	0
13	Harbour Mussels in Brine	6	8	14 - 595 ml bottles	61.38	52	0	25	0
14	Harbour Poppy Seed Rolls	10	3	76 - 761 g jars	14.17	34	0	0	0
15	Northern Cocoa Truffles	12	3	67 - 3 kg pkgs.	24.48	103	0	30	1
16	Lantern Trout Roe	4	8	51 boxes x 75 pcs	28.96	34	10	5	0
17	Blue Door Mead	1	1	96 - 279 g jars	9.1	64	30	10	0
18	Northern Poppy Seed Rolls	4	3	89 - 245 ml bottles	74.44	41	70	10	0
19	Copper Kettle Mountain Tea	26	1	36 - 952 ml bottles	37.95	68	0	10	0
20	Orchard Crab Paste	20	8	51 - 4 kg pkgs.	25.09	52	10	10	0
21	Lantern Spelt Dumplings	27	5	49 - 764 ml bottles	43.69	35	0	5	0
22	Harbour Smoked Salt	14	2	72 tins	3.08	78	70	25	0
23	Northern Alpine Cheese	19	4	56 - 857 ml bottles	37.14	101	0	10	0
24	Harbour Pear Cider	17	1	39 tins	36.37	98	0	15	0
25	Lantern Alpine Cheese	11	4	68 tins	38.61	40	0	10	0
26	Blue Door Plum Chutney	4	2	35 - 8 kg pkgs.	25.52	94	30	0	0
27	Granite Pickled Beets	8	7	17 boxes x 28 pcs	9.02	78	0	0	0
28	Blue Door Honey Cake	11	3	57 - 2 kg pkgs.	14.77	101	0	25	0
29	Orchard Maple Syrup	2	2	69 tins	31.56	74	0	30	0
30	Blue Door Alpine Cheese	11	4	16 boxes x 39 pcs	38.76	56	0	30	0
31	Orchard Oat Flakes	2	5	65 - 125 ml bottles	12.66	29	70	30	0
32	Old Mill Juniper Ham	16	6	54 - 956 ml bottles	28.19	125	0	15	0
33	Northern Sesame Brittle	21	3	15 - 282 ml bottles	27.33	35	70	0	0
34	Northern Spelt Dumplings	12	5	23 - 343 ml bottles	43.37	20	0	15	0
35	Harbour Quince Jelly	12	3	68 tins	29.26	55	30	25	0
36	Copper Kettle Duck Rillettes	26	6	84 boxes x 13 pcs	10.63	37	70	15	0
37	Orchard Salted Butter	7	4	56 - 523 g jars	22.01	25	0	5	1
38	Granite Mead	14	1	58 - 889 g jars	25.9	24	0	10	0
39	Northern Pickled Eel	22	8	98 - 882 ml bottles	31.37	21	0	25	0
40	Granite Thick Yoghurt	28	4	39 boxes x 25 pcs	16.25	81	0	5	0
41	Copper Kettle Mussels in Brine	4	8	42 - 576 ml bottles	14.16	48	0	25	0
42	Singaporean Hokkien Fried Mee	15	5	22 boxes x 59 pcs	14.0	83	0	5	0
43	Harbour Salted Butter	13	4	55 - 831 ml bottles	27.81	49	0	0	0
44	Harbour Walnut Pesto	18	2	33 boxes x 74 pcs	15.42	22	0	30	0
45	Northern Sour Cabbage	2	7	14 - 3 kg pkgs.	14.5	106	0	25	0
46	Old Mill Sardines in Oil	14	8	44 - 6 kg pkgs.	12.0	125	0	10	1
47	Northern Oat Flakes	14	5	13 boxes x 48 pcs	7.87	6	0	15	0
48	Old Mill Mussels in Brine	18	8	89 - 163 g jars	11.34	121	70	10	0
49	Lantern Cocoa Truffles	22	3	49 tins	25.98	112	0	15	1
50	Old Mill Smoked Mackerel	11	8	39 - 734 g jars	21.48	80	0	10	0
51	Northern Potted Pheasant	3	6	86 tins	48.17	55	0	30	0
52	Blue Door Poppy Seed Rolls	18	3	85 - 576 ml bottles	56.4	76	70	5	0
53	Lantern Salt Liquorice	11	3	57 tins	26.52	36	0	5	0
54	Orchard Horseradish Cream	27	2	73 tins	17.05	78	0	0	0
55	Lantern Seeded Crispbread	24	5	39 - 9 kg pkgs.	46.38	23	0	0	0
56	Harbour Buckwheat Noodles	16	5	12 - 661 ml bottles	21.58	37	70	30	0
57	Harbour Almond Nougat	20	3	44 - 544 ml bottles	22.62	91	30	25	0
58	Copper Kettle Buckwheat Noodles	24	5	54 - 649 ml bottles	23.26	25	10	5	0
59	Copper Kettle Air-Dried Beef	15	6	89 - 311 ml bottles	24.61	25	0	5	0
60	Orchard Seeded Crispbread	12	5	32 - 137 ml bottles	83.76	19	0	10	0
61	Orchard Poppy Seed Rolls	18	3	87 boxes x 83 pcs	19.47	33	0	25	0
62	Copper Kettle Cold Brew	16	1	28 - 5 kg pkgs.	31.82	74	0	30	0
63	Granite Chili Vinegar	4	2	48 - 8 kg pkgs.	13.31	119	70	15	0
64	Blue Door Fennel Salami	23	6	94 - 144 g jars	15.16	7	0	5	1
65	Copper Kettle Potted Pheasant	26	6	34 - 277 g jars	13.28	90	10	30	0
66	Granite Juniper Ham	3	6	94 - 2 kg pkgs.	26.5	52	70	30	0
67	Old Mill Fennel Salami	1	6	62 - 2 kg pkgs.	6.43	124	30	30	0
68	Blue Door Mountain Tea	25	1	11 - 8 kg pkgs.	4.43	103	0	15	0
69	Harbour Sardines in Oil	27	8	88 - 713 g jars	20.36	107	70	25	0
70	Copper Kettle Smoked Salt	27	2	71 - 4 kg pkgs.	23.98	58	0	5	0
71	Northern White Beans	17	7	85 - 428 g jars	22.79	87	0	0	0
72	Mozzarella di Giovanni	4	4	56 - 638 ml bottles	34.8	16	70	30	1
73	Harbour Cocoa Truffles	10	3	33 - 2 kg pkgs.	18.53	111	0	15	0
74	Old Mill Trout Roe	7	8	37 boxes x 37 pcs	14.59	83	70	5	0
75	Granite Polenta	4	5	92 boxes x 59 pcs	46.34	16	0	15	1
76	Copper Kettle Oolong	11	1	88 - 4 kg pkgs.	18.0	116	10	15	0
77	Copper Kettle Whey Caramel	6	4	89 - 2 kg pkgs.	35.19	98	70	25	0
\.

COPY orders (order_id, customer_id, employee_id, order_date, required_date, shipped_date, ship_via, freight, ship_name, ship_address, ship_city, ship_region, ship_postal_code, ship_country) FROM stdin;
10248	VINET	5	1996-07-04	1996-08-01	1996-07-16	3	32.38	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
10249	EPELY	1	1996-07-05	1996-08-02	1996-07-26	3	74.21	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10250	FOPBE	1	1996-07-06	1996-08-03	1996-07-19	3	47.48	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10251	FAPVA	8	1996-07-06	1996-08-03	1996-07-27	3	8.47	The Falk Pantry	21 Cedar Street	Vancouver	BC	V6C 9D5	Canada
10252	CADPO	4	1996-07-07	1996-08-04	1996-07-14	2	41.51	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10253	GRFGE	6	1996-07-08	1996-08-05	1996-07-28	3	29.09	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
10254	CACPO	4	1996-07-09	1996-08-06	1996-07-10	2	87.45	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10255	EPRNA	3	1996-07-10	1996-08-07	1996-07-26	1	17.16	Épicerie Rossi	36 rue de la Mer	Nantes	\N	44032	France
10256	YAPAR	3	1996-07-10	1996-08-07	1996-07-23	2	14.41	Yates Provisions	Havnegade 44	Århus	\N	8074	Denmark
10257	MAFKO	5	1996-07-11	1996-08-08	1996-07-14	2	60.12	Markthalle Fontaine	Rheinufer 75	Köln	\N	50532	Germany
10258	ZAPMA	4	1996-07-12	1996-08-09	1996-07-29	2	33.84	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10259	CAGPO	1	1996-07-13	1996-08-10	1996-07-18	3	78.83	Casa Greco	Rua da Ribeira 56	Porto	\N	4123	Portugal
10260	VADBR	6	1996-07-14	1996-08-11	1996-07-18	1	123.68	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
10261	CADPO	4	1996-07-15	1996-08-12	1996-07-17	1	191.47	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10262	EKPCO	6	1996-07-15	1996-08-12	1996-07-22	2	13.51	The Eklund Pantry	51 Quay Street	Cork	\N	T12 62	Ireland
10263	RICSU	1	1996-07-16	1996-08-13	1996-07-25	3	16.78	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10264	LOPAN	1	1996-07-17	1996-08-14	1996-07-31	2	51.18	Lopes Provisions	Schoenmarkt 96	Antwerpen	\N	2021	Belgium
10265	DADMA	7	1996-07-18	1996-08-15	1996-07-26	2	11.49	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
10266	GAUMU	2	1996-07-19	1996-08-16	1996-07-21	2	112.09	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10267	MAIKO	8	1996-07-19	1996-08-16	1996-08-04	1	84.74	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10268	MAMNA	3	1996-07-20	1996-08-17	1996-08-05	3	28.16	Maison Marchetti	99 rue de la Mer	Nantes	\N	44041	France
10269	WAPOU	6	1996-07-21	1996-08-18	1996-07-23	3	46.63	The Walsh Pantry	Satamakatu 28	Oulu	\N	90712	Finland
10270	FEDAR	1	1996-07-22	1996-08-19	1996-07-26	2	120.23	Ferreira & Daughters	Havnegade 53	Århus	\N	8087	Denmark
10271	RICSU	4	1996-07-23	1996-08-20	1996-08-01	2	23.86	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10272	MAIKO	4	1996-07-23	1996-08-20	1996-08-07	1	66.54	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10273	CACPO	1	1996-07-24	1996-08-21	1996-08-14	1	57.87	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10274	MAZMU	8	1996-07-25	1996-08-22	1996-08-06	2	39.52	Markthalle Zamora	Salzstraße 15	Münster	\N	48152	Germany
10275	EPRNA	7	1996-07-26	1996-08-23	1996-07-31	3	19.12	Épicerie Rossi	36 rue de la Mer	Nantes	\N	44032	France
10276	RICSU	4	1996-07-27	1996-08-24	1996-08-02	2	54.0	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10277	EPDNA	2	1996-07-28	1996-08-25	1996-08-13	2	12.63	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
10278	ROPKR	3	1996-07-28	1996-08-25	1996-08-02	1	59.48	Rossi Provisions	ul. Długa 52	Kraków	\N	31-137	Poland
10279	WEDKR	4	1996-07-29	1996-08-26	1996-08-02	2	26.57	Weber & Daughters	ul. Długa 25	Kraków	\N	31-229	Poland
10280	DRETO	3	1996-07-30	1996-08-27	1996-08-16	1	135.71	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10281	YADAN	7	1996-07-31	1996-08-28	1996-08-20	2	108.25	Yates & Daughters	Schoenmarkt 89	Antwerpen	\N	2084	Belgium
10282	LOPAN	7	1996-08-01	1996-08-29	1996-08-07	3	183.68	Lopes Provisions	Schoenmarkt 96	Antwerpen	\N	2021	Belgium
10283	VADBR	1	1996-08-01	1996-08-29	1996-08-21	3	85.18	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
10284	MATKO	5	1996-08-02	1996-08-30	1996-08-20	2	146.47	Markthalle Thorne	Rheinufer 93	Köln	\N	50417	Germany
10285	MAMNA	1	1996-08-03	1996-08-31	1996-08-10	1	66.97	Maison Marchetti	99 rue de la Mer	Nantes	\N	44041	France
10286	DRETO	3	1996-08-04	1996-09-01	1996-08-08	2	44.43	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10287	CADPO	8	1996-08-05	1996-09-02	1996-08-26	3	30.33	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10288	IVPPO	6	1996-08-05	1996-09-02	1996-08-12	1	174.26	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10289	CACPO	7	1996-08-06	1996-09-03	1996-08-07	2	18.55	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10290	GALKO	1	1996-08-07	1996-09-04	1996-08-15	3	10.25	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
10291	GAUMU	4	1996-08-08	1996-09-05	1996-08-12	3	9.13	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10292	MADMO	3	1996-08-09	1996-09-06	1996-08-16	3	39.18	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10293	TAPSA	6	1996-08-09	1996-09-06	1996-08-25	3	49.68	The Tanaka Pantry	674 Oak Square	Savannah	GA	31497	USA
10294	FOPBE	1	1996-08-10	1996-09-07	1996-08-27	3	88.26	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10295	EPDNA	4	1996-08-11	1996-09-08	1996-08-24	2	25.08	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
10296	OLPBR	6	1996-08-12	1996-09-09	1996-08-17	2	7.26	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10297	BAPBO	2	1996-08-13	1996-09-10	1996-08-26	3	9.35	The Bakke Pantry	882 Canyon Avenue	Boise	ID	83766	USA
10298	MAIKO	3	1996-08-14	1996-09-11	1996-08-16	1	100.72	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10299	GAUMU	1	1996-08-14	1996-09-11	1996-08-29	2	12.82	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10300	KODCO	3	1996-08-15	1996-09-12	1996-09-02	1	28.84	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10301	GAHMU	2	1996-08-16	1996-09-13	1996-08-24	2	14.94	Gasthaus Holm	Salzstraße 75	Münster	\N	48587	Germany
10302	CADPO	4	1996-08-17	1996-09-14	1996-08-19	2	71.76	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10303	ALDAR	1	1996-08-18	1996-09-15	1996-08-21	2	16.68	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10304	ABAPU	4	1996-08-18	1996-09-15	1996-08-22	2	135.69	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10305	QUPDU	4	1996-08-19	1996-09-16	1996-08-22	3	180.83	Quiroga Provisions	594 Lake Avenue	Duluth	MN	55877	USA
10306	RICSU	4	1996-08-20	1996-09-17	1996-09-09	3	189.49	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10307	MALLE	3	1996-08-21	1996-09-18	1996-09-06	1	73.04	Markthalle Laurent	Lindenallee 29	Leipzig	\N	04633	Germany
10308	EPRNA	3	1996-08-22	1996-09-19	1996-09-03	3	3.73	Épicerie Rossi	36 rue de la Mer	Nantes	\N	44032	France
10309	KODCO	1	1996-08-22	1996-09-19	1996-09-03	2	33.27	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10310	GAHMU	3	1996-08-23	1996-09-20	1996-08-25	2	7.81	Gasthaus Holm	Salzstraße 75	Münster	\N	48587	Germany
10311	GATKO	3	1996-08-24	1996-09-21	1996-08-25	3	130.34	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10312	CAKPU	2	1996-08-25	1996-09-22	1996-09-07	2	20.73	Casa Keller	Calle Jacaranda 73	Puebla	\N	72498	Mexico
10313	EMWSA	1	1996-08-26	1996-09-23	1996-09-11	2	29.49	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10314	LIFBE	3	1996-08-26	1996-09-23	1996-08-29	1	7.26	Lind Feinkost	Brunnengasse 75	Bern	\N	3026	Switzerland
10315	HAPAN	4	1996-08-27	1996-09-24	1996-09-01	1	80.08	The Haas Pantry	Schoenmarkt 84	Antwerpen	\N	2087	Belgium
10316	DRETO	1	1996-08-28	1996-09-25	1996-09-02	2	15.77	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10317	MADMO	8	1996-08-29	1996-09-26	1996-09-07	1	127.82	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10318	LIDBO	5	1996-08-30	1996-09-27	1996-09-15	2	2.16	Lind & Daughters	477 Canyon Avenue	Boise	ID	83785	USA
10319	GAMKO	2	1996-08-31	1996-09-28	1996-09-16	3	26.62	Gasthaus Meier	Rheinufer 31	Köln	\N	50274	Germany
10320	CAJSE	5	1996-08-31	1996-09-28	1996-09-14	2	183.19	Casa Jansen	Calle Azahar 87	Sevilla	\N	41023	Spain
10321	MAFKO	1	1996-09-01	1996-09-29	1996-09-12	2	10.12	Markthalle Fontaine	Rheinufer 75	Köln	\N	50532	Germany
10322	GALKO	2	1996-09-02	1996-09-30	1996-09-21	2	125.82	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
10323	MAMKO	3	1996-09-03	1996-10-01	1996-09-21	1	7.46	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10324	DRETO	3	1996-09-04	1996-10-02	1996-09-23	1	14.32	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10325	OLPBR	3	1996-09-04	1996-10-02	1996-09-09	3	5.8	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10326	BOUME	3	1996-09-05	1996-10-03	1996-09-07	2	10.29	Bodega Urquhart	Avenida Sucre 65	Mérida	\N	5156	Venezuela
10327	EPDNA	2	1996-09-06	1996-10-04	1996-09-22	1	15.03	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
10328	ABVPU	1	1996-09-07	1996-10-05	1996-09-13	1	57.14	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10329	VINET	1	1996-09-08	1996-10-06	1996-09-28	2	29.51	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
10330	CACPO	1	1996-09-08	1996-10-06	1996-09-24	2	21.86	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10331	ABAPU	8	1996-09-09	1996-10-07	1996-09-18	3	51.65	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10332	OLPBR	1	1996-09-10	1996-10-08	1996-10-01	1	10.4	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10333	CADPO	8	1996-09-11	1996-10-09	1996-09-16	1	289.07	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10334	CADPO	6	1996-09-12	1996-10-10	1996-10-03	3	46.63	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10335	DRETO	1	1996-09-13	1996-10-11	1996-09-22	1	54.65	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10336	OLPBR	5	1996-09-13	1996-10-11	1996-09-25	1	16.6	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10337	GALKO	3	1996-09-14	1996-10-12	1996-09-24	2	9.0	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
10338	RATTC	3	1996-09-15	1996-10-13	1996-09-22	3	60.51	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10339	GRFGE	6	1996-09-16	1996-10-14	1996-10-01	1	111.91	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
10340	DRFTO	4	1996-09-17	1996-10-15	1996-09-23	2	1.56	Drogheria Ferreira	Via dei Colli 94	Torino	\N	10119	Italy
10341	BADDU	7	1996-09-17	1996-10-15	1996-09-26	3	30.78	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10342	KEPAN	4	1996-09-18	1996-10-16	1996-09-25	1	12.52	Keller Provisions	Schoenmarkt 15	Antwerpen	\N	2038	Belgium
10343	MEPAN	2	1996-09-19	1996-10-17	1996-09-28	2	1.77	The Meier Pantry	Schoenmarkt 84	Antwerpen	\N	2067	Belgium
10344	VAPCO	1	1996-09-20	1996-10-18	1996-10-11	2	20.31	Valdez Provisions	77 Quay Street	Cork	\N	T12 42	Ireland
10345	KODCO	3	1996-09-21	1996-10-19	1996-10-10	3	13.25	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10346	MEPAN	8	1996-09-21	1996-10-19	1996-10-05	3	22.16	The Meier Pantry	Schoenmarkt 84	Antwerpen	\N	2067	Belgium
10347	ABVPU	8	1996-09-22	1996-10-20	1996-10-12	1	22.45	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10348	ABAPU	3	1996-09-23	1996-10-21	1996-10-12	3	19.67	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10349	MABRE	8	1996-09-24	1996-10-22	1996-10-01	2	115.91	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10350	MAIKO	1	1996-09-25	1996-10-23	1996-10-15	2	118.36	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10351	WAPOU	3	1996-09-25	1996-10-23	1996-10-11	1	17.96	The Walsh Pantry	Satamakatu 28	Oulu	\N	90712	Finland
10352	KODCO	2	1996-09-26	1996-10-24	1996-10-13	2	243.01	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10353	IVPPO	6	1996-09-27	1996-10-25	1996-10-17	2	18.13	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10354	ABAPU	2	1996-09-28	1996-10-26	1996-10-02	2	20.4	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10355	ZAPMA	8	1996-09-29	1996-10-27	1996-10-20	1	25.37	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10356	EPKNA	4	1996-09-30	1996-10-28	1996-10-18	2	36.56	Épicerie Kowal	74 rue de la Mer	Nantes	\N	44079	France
10357	DRETO	8	1996-09-30	1996-10-28	1996-10-19	3	29.71	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10358	WEPMA	3	1996-10-01	1996-10-29	1996-10-08	3	34.56	Weber Provisions	Ängsvägen 36	Malmö	\N	211 85	Sweden
10359	MAIKO	4	1996-10-02	1996-10-30	1996-10-21	3	62.28	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10360	MEPPO	4	1996-10-03	1996-10-31	1996-10-13	2	53.12	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10361	MODCO	5	1996-10-04	1996-11-01	1996-10-17	2	14.91	Moreau & Daughters	24 Quay Street	Cork	\N	T12 93	Ireland
10362	ROPKR	6	1996-10-04	1996-11-01	1996-10-11	2	4.56	Rossi Provisions	ul. Długa 52	Kraków	\N	31-137	Poland
10363	CAKPU	9	1996-10-05	1996-11-02	1996-10-11	1	161.72	Casa Keller	Calle Jacaranda 73	Puebla	\N	72498	Mexico
10364	NOPBR	3	1996-10-06	1996-11-03	1996-10-27	1	16.12	The Nowak Pantry	68 Harbour Row	Bristol	Avon	BS8 3LT	UK
10365	GAUMU	8	1996-10-07	1996-11-04	1996-10-16	3	36.56	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10366	ROPKR	1	1996-10-08	1996-11-05	1996-10-09	1	35.07	Rossi Provisions	ul. Długa 52	Kraków	\N	31-137	Poland
10367	GALKO	4	1996-10-08	1996-11-05	1996-10-20	3	44.73	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
10368	CACPO	4	1996-10-09	1996-11-06	1996-10-24	3	179.58	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10369	WEPMA	8	1996-10-10	1996-11-07	1996-10-22	1	197.94	Weber Provisions	Ängsvägen 36	Malmö	\N	211 85	Sweden
10370	MATKO	4	1996-10-11	1996-11-08	1996-10-26	2	43.56	Markthalle Thorne	Rheinufer 93	Köln	\N	50417	Germany
10371	DRETO	5	1996-10-12	1996-11-09	1996-10-13	2	192.97	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10372	PIDGR	2	1996-10-12	1996-11-09	1996-10-21	1	18.8	Pinto Delikatessen	Murgasse 13	Graz	\N	8072	Austria
10373	EPBNA	4	1996-10-13	1996-11-10	1996-11-03	2	34.33	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
10374	ALWRO	4	1996-10-14	1996-11-11	1996-10-16	1	59.64	Almacén Walsh	Avenida del Río 79	Rosario	\N	S2015	Argentina
10375	KODCO	8	1996-10-15	1996-11-12	1996-10-23	2	76.75	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10376	ZAPMA	1	1996-10-16	1996-11-13	1996-10-18	2	104.11	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10377	CADPO	4	1996-10-17	1996-11-14	1996-10-29	2	10.9	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10378	ALDAR	3	1996-10-17	1996-11-14	1996-10-24	3	42.39	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10379	GATKO	1	1996-10-18	1996-11-15	1996-11-06	3	316.55	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10380	MAIKO	1	1996-10-19	1996-11-16	1996-11-07	1	18.3	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10381	FOPBE	1	1996-10-20	1996-11-17	1996-11-03	1	61.55	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10382	VADBR	7	1996-10-21	1996-11-18	1996-10-29	2	114.83	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
10383	DRETO	6	1996-10-21	1996-11-18	1996-11-08	1	238.19	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10384	HOPMA	6	1996-10-22	1996-11-19	1996-10-26	1	42.75	The Holm Pantry	Ängsvägen 91	Malmö	\N	215 88	Sweden
10385	YAPAR	1	1996-10-23	1996-11-20	1996-11-05	2	9.76	Yates Provisions	Havnegade 44	Århus	\N	8074	Denmark
10386	EPELY	1	1996-10-24	1996-11-21	1996-10-30	3	15.32	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10387	WAPOU	2	1996-10-25	1996-11-22	1996-11-09	2	24.67	The Walsh Pantry	Satamakatu 28	Oulu	\N	90712	Finland
10388	CADPO	4	1996-10-25	1996-11-22	1996-11-06	3	17.99	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10389	HAPAN	8	1996-10-26	1996-11-23	1996-11-01	1	11.94	The Haas Pantry	Schoenmarkt 84	Antwerpen	\N	2087	Belgium
10390	MAMKO	3	1996-10-27	1996-11-24	1996-10-29	1	31.5	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10391	KODCO	6	1996-10-28	1996-11-25	1996-11-16	1	87.91	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10392	FOPBE	4	1996-10-29	1996-11-26	1996-11-19	3	11.47	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10393	LIDBO	4	1996-10-30	1996-11-27	1996-11-19	2	43.65	Lind & Daughters	477 Canyon Avenue	Boise	ID	83785	USA
10394	VAPCO	5	1996-10-30	1996-11-27	1996-11-15	1	53.36	Valdez Provisions	77 Quay Street	Cork	\N	T12 42	Ireland
10395	MAIKO	1	1996-10-31	1996-11-28	1996-11-06	1	8.94	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10396	MAFKO	3	1996-11-01	1996-11-29	1996-11-06	1	6.75	Markthalle Fontaine	Rheinufer 75	Köln	\N	50532	Germany
10397	LOPOU	8	1996-11-02	1996-11-30	1996-11-07	1	45.15	The Lopes Pantry	Satamakatu 61	Oulu	\N	90373	Finland
10398	GRFGE	3	1996-11-03	1996-12-01	1996-11-23	2	168.19	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
10399	CAKPU	4	1996-11-03	1996-12-01	1996-11-16	2	109.17	Casa Keller	Calle Jacaranda 73	Puebla	\N	72498	Mexico
10400	IVPPO	7	1996-11-04	1996-12-02	1996-11-05	1	113.43	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10401	ABAPU	8	1996-11-05	1996-12-03	1996-11-15	2	3.41	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10402	WAPOU	3	1996-11-06	1996-12-04	1996-11-27	3	22.65	The Walsh Pantry	Satamakatu 28	Oulu	\N	90712	Finland
10403	VINET	8	1996-11-07	1996-12-05	1996-11-14	1	21.66	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
10404	EPDNA	6	1996-11-07	1996-12-05	1996-11-10	3	18.81	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
10405	EMWSA	3	1996-11-08	1996-12-06	1996-11-19	1	83.76	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10406	IVPPO	4	1996-11-09	1996-12-07	1996-11-16	2	60.49	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10407	KODCO	3	1996-11-10	1996-12-08	1996-11-21	3	352.75	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10408	CAJSE	9	1996-11-11	1996-12-09	1996-11-17	1	1.73	Casa Jansen	Calle Azahar 87	Sevilla	\N	41023	Spain
10409	CAKPU	3	1996-11-11	1996-12-09	1996-11-25	3	46.34	Casa Keller	Calle Jacaranda 73	Puebla	\N	72498	Mexico
10410	FAPVA	1	1996-11-12	1996-12-10	1996-11-18	3	69.02	The Falk Pantry	21 Cedar Street	Vancouver	BC	V6C 9D5	Canada
10411	YADAN	3	1996-11-13	1996-12-11	1996-11-20	1	20.71	Yates & Daughters	Schoenmarkt 89	Antwerpen	\N	2084	Belgium
10412	EMSSA	8	1996-11-14	1996-12-12	1996-12-04	2	57.63	Empório Sandoval	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil
10413	MAIKO	4	1996-11-15	1996-12-13	1996-11-26	3	96.88	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10414	FOPBE	8	1996-11-16	1996-12-14	1996-12-01	2	11.88	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10415	GRFGE	3	1996-11-16	1996-12-14	1996-11-19	3	6.74	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
10416	EMKSA	7	1996-11-17	1996-12-15	1996-11-20	3	111.35	Empório Kowal	Rua das Flores, 63	São Paulo	SP	01735-086	Brazil
10417	EPELY	8	1996-11-18	1996-12-16	1996-11-28	1	64.7	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10418	MAMNA	4	1996-11-19	1996-12-17	1996-11-22	3	37.36	Maison Marchetti	99 rue de la Mer	Nantes	\N	44041	France
10419	KODCO	4	1996-11-20	1996-12-18	1996-12-04	1	24.53	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10420	RICSU	4	1996-11-20	1996-12-18	1996-12-03	1	5.33	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10421	CACPO	9	1996-11-21	1996-12-19	1996-12-10	1	48.33	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10422	ROPKR	6	1996-11-22	1996-12-20	1996-12-08	2	98.33	Rossi Provisions	ul. Długa 52	Kraków	\N	31-137	Poland
10423	VADBR	3	1996-11-23	1996-12-21	1996-12-12	3	12.54	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
10424	THPOU	5	1996-11-24	1996-12-22	1996-12-12	1	25.17	Thorne Provisions	Satamakatu 56	Oulu	\N	90251	Finland
10425	MADMO	3	1996-11-24	1996-12-22	1996-11-30	2	6.5	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10426	MABRE	9	1996-11-25	1996-12-23	1996-12-12	2	44.54	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10427	ALDAR	5	1996-11-26	1996-12-24	1996-11-27	1	18.1	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10428	MADMO	3	1996-11-27	1996-12-25	1996-12-16	2	61.84	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10429	OLPBR	1	1996-11-28	1996-12-26	1996-12-04	3	59.79	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10430	THPOU	7	1996-11-28	1996-12-26	1996-12-19	3	95.28	Thorne Provisions	Satamakatu 56	Oulu	\N	90251	Finland
10431	MADMO	9	1996-11-29	1996-12-27	1996-12-03	2	2.6	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10432	ZAPMA	3	1996-11-30	1996-12-28	1996-12-12	3	82.8	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10433	BOSME	2	1996-12-01	1996-12-29	1996-12-16	2	69.15	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
10434	ALDAR	4	1996-12-02	1996-12-30	1996-12-10	3	26.66	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10435	GALKO	1	1996-12-03	1996-12-31	1996-12-17	1	12.63	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
10436	ALDAR	1	1996-12-03	1996-12-31	1996-12-20	1	21.42	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10437	LOPOU	5	1996-12-04	1997-01-01	1996-12-13	2	9.9	The Lopes Pantry	Satamakatu 61	Oulu	\N	90373	Finland
10438	EKPCO	1	1996-12-05	1997-01-02	1996-12-10	1	115.38	The Eklund Pantry	51 Quay Street	Cork	\N	T12 62	Ireland
10439	RICSU	4	1996-12-06	1997-01-03	1996-12-10	1	20.11	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10440	MAALY	7	1996-12-07	1997-01-04	1996-12-20	3	17.72	Maison Aldana	11 quai du Rhône	Lyon	\N	69012	France
10441	BADDU	4	1996-12-07	1997-01-04	1996-12-25	1	76.54	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10442	MABRE	4	1996-12-08	1997-01-05	1996-12-15	1	10.51	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10443	CADPO	4	1996-12-09	1997-01-06	1996-12-24	1	5.01	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10444	ABVPU	4	1996-12-10	1997-01-07	1996-12-25	2	82.12	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10445	EPKNA	8	1996-12-11	1997-01-08	1996-12-12	2	97.18	Épicerie Kowal	74 rue de la Mer	Nantes	\N	44079	France
10446	GALKO	4	1996-12-11	1997-01-08	1996-12-28	3	23.68	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
10447	TAPSA	4	1996-12-12	1997-01-09	1996-12-16	3	111.98	The Tanaka Pantry	674 Oak Square	Savannah	GA	31497	USA
10448	OLPBR	1	1996-12-13	1997-01-10	1996-12-15	1	7.03	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10449	MAMKO	8	1996-12-14	1997-01-11	1996-12-30	1	228.17	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10450	BADDU	8	1996-12-15	1997-01-12	1997-01-01	1	115.02	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10451	ZAPMA	3	1996-12-16	1997-01-13	1996-12-26	3	35.8	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10452	MEPPO	8	1996-12-16	1997-01-13	1997-01-06	2	13.39	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10453	CAKPU	8	1996-12-17	1997-01-14	1997-01-03	3	4.21	Casa Keller	Calle Jacaranda 73	Puebla	\N	72498	Mexico
10454	CADPO	1	1996-12-18	1997-01-15	1996-12-24	2	118.22	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10455	LIDBO	4	1996-12-19	1997-01-16	1996-12-24	2	69.65	Lind & Daughters	477 Canyon Avenue	Boise	ID	83785	USA
10456	CAGPO	7	1996-12-20	1997-01-17	1996-12-21	3	9.87	Casa Greco	Rua da Ribeira 56	Porto	\N	4123	Portugal
10457	THPOU	2	1996-12-20	1997-01-17	1996-12-25	1	71.76	Thorne Provisions	Satamakatu 56	Oulu	\N	90251	Finland
10458	IVPPO	5	1996-12-21	1997-01-18	1997-01-11	3	22.57	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10459	GAUMU	3	1996-12-22	1997-01-19	1996-12-29	2	7.12	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10460	MASKO	4	1996-12-23	1997-01-20	1996-12-29	1	67.71	Markthalle Steiner	Rheinufer 13	Köln	\N	50186	Germany
10461	EPBNA	1	1996-12-24	1997-01-21	1997-01-03	2	105.93	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
10462	LAPVA	8	1996-12-24	1997-01-21	1997-01-12	3	6.14	Laurent Provisions	73 Cedar Street	Vancouver	BC	V8C 5D1	Canada
10463	IVPPO	6	1996-12-25	1997-01-22	1997-01-12	2	7.44	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10464	EPELY	4	1996-12-26	1997-01-23	1997-01-05	3	12.47	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10465	MADLY	7	1996-12-27	1997-01-24	1997-01-13	1	60.6	Maison Duarte	24 quai du Rhône	Lyon	\N	69037	France
10466	EPBNA	7	1996-12-28	1997-01-25	1997-01-18	1	108.53	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
10467	ZAPMA	6	1996-12-28	1997-01-25	1997-01-18	2	18.09	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10468	MAALY	1	1996-12-29	1997-01-26	1997-01-07	1	18.75	Maison Aldana	11 quai du Rhône	Lyon	\N	69012	France
10469	MEPPO	9	1996-12-30	1997-01-27	1997-01-19	3	26.47	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10470	WAPOU	7	1996-12-31	1997-01-28	1997-01-08	3	80.92	The Walsh Pantry	Satamakatu 28	Oulu	\N	90712	Finland
10471	RICSU	3	1997-01-01	1997-01-29	1997-01-14	3	8.94	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10472	DADMA	3	1997-01-02	1997-01-30	1997-01-15	3	81.24	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
10473	BOSME	8	1997-01-02	1997-01-30	1997-01-14	1	16.06	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
10474	GAMKO	7	1997-01-03	1997-01-31	1997-01-09	1	31.27	Gasthaus Meier	Rheinufer 31	Köln	\N	50274	Germany
10475	MADMO	7	1997-01-04	1997-02-01	1997-01-08	1	35.79	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10476	MODCO	6	1997-01-05	1997-02-02	1997-01-18	1	39.38	Moreau & Daughters	24 Quay Street	Cork	\N	T12 93	Ireland
10477	MATKO	6	1997-01-06	1997-02-03	1997-01-13	3	14.0	Markthalle Thorne	Rheinufer 93	Köln	\N	50417	Germany
10478	VOFGE	6	1997-01-06	1997-02-03	1997-01-14	3	76.75	Vogel Feinkost	Rue du Lac 14	Genève	\N	1275	Switzerland
10479	DRETO	5	1997-01-07	1997-02-04	1997-01-14	1	83.01	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10480	KEPAN	2	1997-01-08	1997-02-05	1997-01-11	2	59.3	Keller Provisions	Schoenmarkt 15	Antwerpen	\N	2038	Belgium
10481	MAQRE	2	1997-01-09	1997-02-06	1997-01-14	1	112.06	Maison Quiroga	66 rue des Tonneliers	Reims	\N	51124	France
10482	EPELY	1	1997-01-10	1997-02-07	1997-01-11	2	52.06	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10483	ABAPU	2	1997-01-10	1997-02-07	1997-01-12	2	76.85	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10484	BADDU	4	1997-01-11	1997-02-08	1997-01-14	2	46.72	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10485	PIDGR	3	1997-01-12	1997-02-09	1997-01-23	1	71.04	Pinto Delikatessen	Murgasse 13	Graz	\N	8072	Austria
10486	EPKNA	4	1997-01-13	1997-02-10	1997-01-25	2	13.47	Épicerie Kowal	74 rue de la Mer	Nantes	\N	44079	France
10487	KEPAN	3	1997-01-14	1997-02-11	1997-02-01	2	304.45	Keller Provisions	Schoenmarkt 15	Antwerpen	\N	2038	Belgium
10488	EPKNA	7	1997-01-14	1997-02-11	1997-01-15	3	21.9	Épicerie Kowal	74 rue de la Mer	Nantes	\N	44079	France
10489	MEPPO	1	1997-01-15	1997-02-12	1997-02-03	2	9.15	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10490	MEPPO	9	1997-01-16	1997-02-13	1997-02-04	3	216.44	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10491	ABVPU	1	1997-01-17	1997-02-14	1997-01-31	2	69.34	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10492	BAPBO	6	1997-01-18	1997-02-15	1997-01-31	1	115.63	The Bakke Pantry	882 Canyon Avenue	Boise	ID	83766	USA
10493	YADAN	9	1997-01-19	1997-02-16	1997-02-07	2	90.65	Yates & Daughters	Schoenmarkt 89	Antwerpen	\N	2084	Belgium
10494	EMWSA	4	1997-01-19	1997-02-16	1997-02-09	1	24.98	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10495	DADMA	6	1997-01-20	1997-02-17	1997-02-09	1	47.5	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
10496	THPOU	8	1997-01-21	1997-02-18	1997-01-30	3	129.4	Thorne Provisions	Satamakatu 56	Oulu	\N	90251	Finland
10497	QUPDU	1	1997-01-22	1997-02-19	1997-01-25	1	93.19	Quiroga Provisions	594 Lake Avenue	Duluth	MN	55877	USA
10498	MADMO	7	1997-01-23	1997-02-20	1997-02-04	1	48.4	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10499	EPDNA	1	1997-01-23	1997-02-20	1997-02-13	3	31.22	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
10500	EMSSA	8	1997-01-24	1997-02-21	1997-02-08	2	22.53	Empório Sandoval	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil
10501	GATKO	8	1997-01-25	1997-02-22	1997-01-31	2	34.88	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10502	DRETO	6	1997-01-26	1997-02-23	1997-02-11	3	27.94	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10503	ABAPU	3	1997-01-27	1997-02-24	1997-01-28	1	26.99	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10504	HAPAN	5	1997-01-27	1997-02-24	1997-01-31	1	6.83	The Haas Pantry	Schoenmarkt 84	Antwerpen	\N	2087	Belgium
10505	DADMA	3	1997-01-28	1997-02-25	1997-01-31	3	156.3	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
10506	MAMKO	1	1997-01-29	1997-02-26	1997-02-13	2	350.95	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10507	KODCO	1	1997-01-30	1997-02-27	1997-01-31	1	49.0	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10508	FOPBE	7	1997-01-31	1997-02-28	1997-02-16	1	52.18	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10509	GAHMU	3	1997-02-01	1997-03-01	1997-02-15	2	91.16	Gasthaus Holm	Salzstraße 75	Münster	\N	48587	Germany
10510	VINET	4	1997-02-01	1997-03-01	1997-02-09	1	52.62	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
10511	GRFGE	3	1997-02-02	1997-03-02	1997-02-23	2	27.12	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
10512	VAPCO	4	1997-02-03	1997-03-03	1997-02-18	3	34.32	Valdez Provisions	77 Quay Street	Cork	\N	T12 42	Ireland
10513	MADNA	3	1997-02-04	1997-03-04	1997-02-05	2	57.22	Maison Dahl	45 rue de la Mer	Nantes	\N	44095	France
10514	MAMKO	3	1997-02-05	1997-03-05	1997-02-25	1	8.06	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10515	ABAPU	4	1997-02-05	1997-03-05	1997-02-10	1	64.78	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10516	ALDAR	3	1997-02-06	1997-03-06	1997-02-25	1	7.67	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10517	RICSU	1	1997-02-07	1997-03-07	1997-02-18	2	52.64	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10518	BOUME	2	1997-02-08	1997-03-08	1997-02-24	3	21.7	Bodega Urquhart	Avenida Sucre 65	Mérida	\N	5156	Venezuela
10519	ABAPU	4	1997-02-09	1997-03-09	1997-02-19	2	7.7	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10520	MAFKO	4	1997-02-09	1997-03-09	1997-02-27	3	50.96	Markthalle Fontaine	Rheinufer 75	Köln	\N	50532	Germany
10521	GATKO	7	1997-02-10	1997-03-10	1997-03-01	2	8.5	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10522	ABAPU	8	1997-02-11	1997-03-11	1997-02-21	3	6.52	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10523	DRFTO	5	1997-02-12	1997-03-12	1997-03-02	1	107.1	Drogheria Ferreira	Via dei Colli 94	Torino	\N	10119	Italy
10524	MAWMU	8	1997-02-13	1997-03-13	1997-03-01	1	7.92	Markthalle Walsh	Salzstraße 83	Münster	\N	48368	Germany
10525	GAUMU	3	1997-02-13	1997-03-13	1997-03-05	2	17.49	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10526	GAUMU	9	1997-02-14	1997-03-14	1997-02-21	3	37.26	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10527	EPELY	7	1997-02-15	1997-03-15	1997-02-26	2	7.43	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10528	CAGPO	3	1997-02-16	1997-03-16	1997-02-20	2	3.82	Casa Greco	Rua da Ribeira 56	Porto	\N	4123	Portugal
10529	OLPBR	3	1997-02-17	1997-03-17	1997-03-06	3	163.02	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10530	MAIKO	5	1997-02-18	1997-03-18	1997-02-23	3	183.78	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10531	TAPSA	8	1997-02-18	1997-03-18	1997-02-19	2	16.01	The Tanaka Pantry	674 Oak Square	Savannah	GA	31497	USA
10532	IVPPO	3	1997-02-19	1997-03-19	1997-02-21	2	17.58	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10533	MEPPO	4	1997-02-20	1997-03-20	1997-03-09	2	27.41	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10534	EMWSA	4	1997-02-21	1997-03-21	1997-03-07	3	19.85	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10535	ZAPMA	4	1997-02-22	1997-03-22	1997-03-02	2	16.86	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10536	BOSME	3	1997-02-22	1997-03-22	1997-03-10	2	65.89	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
10537	VADBR	1	1997-02-23	1997-03-23	1997-02-26	2	57.22	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
10538	DRFTO	2	1997-02-24	1997-03-24	1997-02-25	2	57.28	Drogheria Ferreira	Via dei Colli 94	Torino	\N	10119	Italy
10539	KODCO	4	1997-02-25	1997-03-25	1997-03-09	2	23.01	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10540	MEPPO	7	1997-02-26	1997-03-26	1997-03-01	2	142.95	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10541	CAGPO	2	1997-02-26	1997-03-26	1997-03-10	1	27.26	Casa Greco	Rua da Ribeira 56	Porto	\N	4123	Portugal
10542	BEPAN	7	1997-02-27	1997-03-27	1997-03-14	3	91.42	The Bellini Pantry	Schoenmarkt 11	Antwerpen	\N	2089	Belgium
10543	EMWSA	1	1997-02-28	1997-03-28	1997-03-21	2	88.84	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10544	BOUME	1	1997-03-01	1997-03-29	1997-03-19	2	71.46	Bodega Urquhart	Avenida Sucre 65	Mérida	\N	5156	Venezuela
10545	VADBR	2	1997-03-02	1997-03-30	1997-03-21	3	46.3	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
10546	CACPO	4	1997-03-02	1997-03-30	1997-03-19	2	23.05	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10547	GALKO	4	1997-03-03	1997-03-31	1997-03-21	2	20.83	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
10548	KODCO	3	1997-03-04	1997-04-01	1997-03-14	2	87.35	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10549	BOUME	4	1997-03-05	1997-04-02	1997-03-25	2	30.76	Bodega Urquhart	Avenida Sucre 65	Mérida	\N	5156	Venezuela
10550	EPDNA	1	1997-03-06	1997-04-03	1997-03-26	1	10.15	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
10551	MASKO	4	1997-03-07	1997-04-04	1997-03-11	2	30.81	Markthalle Steiner	Rheinufer 13	Köln	\N	50186	Germany
10552	ALWRO	2	1997-03-07	1997-04-04	1997-03-15	1	20.78	Almacén Walsh	Avenida del Río 79	Rosario	\N	S2015	Argentina
10553	EKPCO	8	1997-03-08	1997-04-05	1997-03-16	1	18.67	The Eklund Pantry	51 Quay Street	Cork	\N	T12 62	Ireland
10554	PIDGR	1	1997-03-09	1997-04-06	1997-03-16	2	81.86	Pinto Delikatessen	Murgasse 13	Graz	\N	8072	Austria
10555	EMSSA	1	1997-03-10	1997-04-07	1997-03-29	1	19.82	Empório Sandoval	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil
10556	OLPBR	4	1997-03-11	1997-04-08	1997-03-30	2	18.11	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10557	BOSME	4	1997-03-11	1997-04-08	1997-03-16	2	155.29	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
10558	ALDAR	4	1997-03-12	1997-04-09	1997-03-29	2	80.86	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10559	ZAPMA	3	1997-03-13	1997-04-10	1997-03-25	1	9.03	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10560	IVPPO	6	1997-03-14	1997-04-11	1997-04-04	2	39.3	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10561	WEPMA	7	1997-03-15	1997-04-12	1997-03-23	3	362.71	Weber Provisions	Ängsvägen 36	Malmö	\N	211 85	Sweden
10562	MALLE	2	1997-03-15	1997-04-12	1997-03-22	3	6.53	Markthalle Laurent	Lindenallee 29	Leipzig	\N	04633	Germany
10563	MABRE	1	1997-03-16	1997-04-13	1997-03-23	2	165.6	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10564	GAUMU	9	1997-03-17	1997-04-14	1997-04-05	2	19.17	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10565	ALDAR	7	1997-03-18	1997-04-15	1997-03-31	2	405.43	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10566	GALKO	5	1997-03-19	1997-04-16	1997-04-04	2	6.08	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
10567	BADDU	4	1997-03-20	1997-04-17	1997-03-23	1	140.7	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10568	FAPVA	9	1997-03-20	1997-04-17	1997-04-09	1	251.3	The Falk Pantry	21 Cedar Street	Vancouver	BC	V6C 9D5	Canada
10569	MADMO	1	1997-03-21	1997-04-18	1997-04-11	3	32.48	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10570	CAMSE	7	1997-03-22	1997-04-19	1997-03-25	1	32.89	Casa Moreau	Calle Azahar 41	Sevilla	\N	41041	Spain
10571	WEPMA	6	1997-03-23	1997-04-20	1997-03-31	1	2.79	Weber Provisions	Ängsvägen 36	Malmö	\N	211 85	Sweden
10572	ABVPU	4	1997-03-24	1997-04-21	1997-04-03	2	28.32	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10573	ZAPMA	4	1997-03-24	1997-04-21	1997-04-07	3	38.74	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10574	CAKPU	3	1997-03-25	1997-04-22	1997-04-13	1	72.44	Casa Keller	Calle Jacaranda 73	Puebla	\N	72498	Mexico
10575	MAWMU	8	1997-03-26	1997-04-23	1997-04-13	2	12.83	Markthalle Walsh	Salzstraße 83	Münster	\N	48368	Germany
10576	MAMKO	8	1997-03-27	1997-04-24	1997-04-02	2	108.93	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10577	RATTC	6	1997-03-28	1997-04-25	1997-04-08	1	68.59	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10578	MADLY	4	1997-03-28	1997-04-25	1997-04-06	2	16.91	Maison Duarte	24 quai du Rhône	Lyon	\N	69037	France
10579	IVPPO	4	1997-03-29	1997-04-26	1997-04-15	3	1.95	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10580	MAMNA	8	1997-03-30	1997-04-27	1997-04-04	1	33.15	Maison Marchetti	99 rue de la Mer	Nantes	\N	44041	France
10581	GRFGE	6	1997-03-31	1997-04-28	1997-04-21	3	11.89	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
10582	CAKPU	4	1997-04-01	1997-04-29	1997-04-05	2	271.4	Casa Keller	Calle Jacaranda 73	Puebla	\N	72498	Mexico
10583	EMWSA	8	1997-04-01	1997-04-29	1997-04-21	1	91.39	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10584	MAQRE	8	1997-04-02	1997-04-30	1997-04-09	2	25.17	Maison Quiroga	66 rue des Tonneliers	Reims	\N	51124	France
10585	MAFKO	8	1997-04-03	1997-05-01	1997-04-14	3	25.32	Markthalle Fontaine	Rheinufer 75	Köln	\N	50532	Germany
10586	OLPBR	2	1997-04-04	1997-05-02	1997-04-05	2	24.48	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10587	CADPO	7	1997-04-05	1997-05-03	1997-04-12	3	49.34	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10588	BOUME	3	1997-04-06	1997-05-04	1997-04-27	2	16.52	Bodega Urquhart	Avenida Sucre 65	Mérida	\N	5156	Venezuela
10589	EPELY	1	1997-04-06	1997-05-04	1997-04-13	3	13.2	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10590	CADPO	3	1997-04-07	1997-05-05	1997-04-09	1	12.51	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10591	BEPAN	4	1997-04-08	1997-05-06	1997-04-24	3	58.05	The Bellini Pantry	Schoenmarkt 11	Antwerpen	\N	2089	Belgium
10592	DADMA	3	1997-04-09	1997-05-07	1997-04-28	2	15.26	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
10593	THPOU	8	1997-04-10	1997-05-08	1997-04-19	2	103.46	Thorne Provisions	Satamakatu 56	Oulu	\N	90251	Finland
10594	LOPAN	3	1997-04-10	1997-05-08	1997-04-18	2	19.58	Lopes Provisions	Schoenmarkt 96	Antwerpen	\N	2021	Belgium
10595	ZAPMA	4	1997-04-11	1997-05-09	1997-04-13	1	25.57	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10596	EMSSA	8	1997-04-12	1997-05-10	1997-04-22	2	10.79	Empório Sandoval	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil
10597	RATTC	1	1997-04-13	1997-05-11	1997-04-18	1	17.12	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10598	MAFKO	9	1997-04-14	1997-05-12	1997-04-17	1	83.5	Markthalle Fontaine	Rheinufer 75	Köln	\N	50532	Germany
10599	ABVPU	4	1997-04-14	1997-05-12	1997-04-16	1	285.37	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10600	MABRE	2	1997-04-15	1997-05-13	1997-04-24	2	79.29	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10601	MADMO	3	1997-04-16	1997-05-14	1997-05-03	2	283.1	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10602	CAJSE	3	1997-04-17	1997-05-15	1997-05-08	2	15.59	Casa Jansen	Calle Azahar 87	Sevilla	\N	41023	Spain
10603	MASKO	3	1997-04-18	1997-05-16	1997-04-27	1	0.97	Markthalle Steiner	Rheinufer 13	Köln	\N	50186	Germany
10604	OLPBR	3	1997-04-18	1997-05-16	1997-04-25	2	37.69	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10605	ALWRO	1	1997-04-19	1997-05-17	1997-04-23	2	102.03	Almacén Walsh	Avenida del Río 79	Rosario	\N	S2015	Argentina
10606	GATKO	5	1997-04-20	1997-05-18	1997-04-21	1	1.95	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10607	CAJSE	3	1997-04-21	1997-05-19	1997-04-26	3	6.51	Casa Jansen	Calle Azahar 87	Sevilla	\N	41023	Spain
10608	ABAPU	1	1997-04-22	1997-05-20	1997-04-27	3	14.91	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10609	MABRE	4	1997-04-23	1997-05-21	1997-05-13	3	69.92	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10610	QUPDU	7	1997-04-23	1997-05-21	1997-05-11	2	257.41	Quiroga Provisions	594 Lake Avenue	Duluth	MN	55877	USA
10611	ABAPU	6	1997-04-24	1997-05-22	1997-05-09	2	636.05	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10612	ALWRO	1	1997-04-25	1997-05-23	1997-04-26	2	65.96	Almacén Walsh	Avenida del Río 79	Rosario	\N	S2015	Argentina
10613	CAMSE	6	1997-04-26	1997-05-24	1997-05-03	2	52.85	Casa Moreau	Calle Azahar 41	Sevilla	\N	41041	Spain
10614	WAPOU	6	1997-04-27	1997-05-25	1997-05-06	2	84.65	The Walsh Pantry	Satamakatu 28	Oulu	\N	90712	Finland
10615	MADMO	4	1997-04-27	1997-05-25	1997-05-01	2	15.68	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10616	OLPBR	4	1997-04-28	1997-05-26	1997-05-10	1	26.85	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10617	CAJSE	8	1997-04-29	1997-05-27	1997-05-13	2	35.02	Casa Jansen	Calle Azahar 87	Sevilla	\N	41023	Spain
10618	ABAPU	5	1997-04-30	1997-05-28	1997-05-18	3	23.81	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10619	MAIKO	8	1997-05-01	1997-05-29	1997-05-14	1	37.01	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10620	GATKO	8	1997-05-01	1997-05-29	1997-05-07	3	12.78	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10621	VOFGE	3	1997-05-02	1997-05-30	1997-05-18	3	9.92	Vogel Feinkost	Rue du Lac 14	Genève	\N	1275	Switzerland
10622	EPELY	4	1997-05-03	1997-05-31	1997-05-04	3	27.08	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10623	MAIKO	4	1997-05-04	1997-06-01	1997-05-15	2	48.4	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10624	LOPAN	4	1997-05-05	1997-06-02	1997-05-09	1	73.16	Lopes Provisions	Schoenmarkt 96	Antwerpen	\N	2021	Belgium
10625	RODKR	8	1997-05-06	1997-06-03	1997-05-18	2	38.66	Rossi & Daughters	ul. Długa 92	Kraków	\N	31-535	Poland
10626	IVPPO	9	1997-05-06	1997-06-03	1997-05-10	1	8.35	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10627	GRFGE	1	1997-05-07	1997-06-04	1997-05-28	3	57.64	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
10628	GRFGE	4	1997-05-08	1997-06-05	1997-05-28	2	5.5	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
10629	TAPSA	7	1997-05-09	1997-06-06	1997-05-18	1	15.0	The Tanaka Pantry	674 Oak Square	Savannah	GA	31497	USA
10630	OLPBR	3	1997-05-10	1997-06-07	1997-05-26	1	25.67	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10631	MEPPO	4	1997-05-10	1997-06-07	1997-05-25	3	37.03	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10632	SAPMO	8	1997-05-11	1997-06-08	1997-05-15	2	8.27	The Sandoval Pantry	84 rue Saint-Gabriel	Montréal	Québec	H9A 7B4	Canada
10633	EMSSA	6	1997-05-12	1997-06-09	1997-05-15	1	11.47	Empório Sandoval	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil
10634	MADMO	4	1997-05-13	1997-06-10	1997-05-27	2	3.31	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10635	ABAPU	5	1997-05-14	1997-06-11	1997-06-04	3	21.6	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10636	BOUME	1	1997-05-14	1997-06-11	1997-05-28	3	10.36	Bodega Urquhart	Avenida Sucre 65	Mérida	\N	5156	Venezuela
10637	EPBNA	2	1997-05-15	1997-06-12	1997-06-03	2	54.55	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
10638	PIDGR	3	1997-05-16	1997-06-13	1997-05-19	2	16.4	Pinto Delikatessen	Murgasse 13	Graz	\N	8072	Austria
10639	VOFGE	1	1997-05-17	1997-06-14	1997-05-27	3	20.21	Vogel Feinkost	Rue du Lac 14	Genève	\N	1275	Switzerland
10640	EMWSA	6	1997-05-18	1997-06-15	1997-06-03	1	31.13	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10641	ABAPU	4	1997-05-18	1997-06-15	1997-05-24	1	12.46	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10642	MEPAN	4	1997-05-19	1997-06-16	1997-06-02	1	25.07	The Meier Pantry	Schoenmarkt 84	Antwerpen	\N	2067	Belgium
10643	HADOU	1	1997-05-20	1997-06-17	1997-05-29	1	70.75	Haas & Daughters	Satamakatu 86	Oulu	\N	90177	Finland
10644	RATTC	2	1997-05-21	1997-06-18	1997-06-07	2	69.52	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10645	MASKO	8	1997-05-22	1997-06-19	1997-05-26	1	4.29	Markthalle Steiner	Rheinufer 13	Köln	\N	50186	Germany
10646	RICSU	8	1997-05-23	1997-06-20	1997-05-27	2	45.73	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10647	CADPO	3	1997-05-23	1997-06-20	1997-06-01	2	59.81	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10648	EMWSA	5	1997-05-24	1997-06-21	1997-05-25	3	10.05	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10649	GAUMU	1	1997-05-25	1997-06-22	1997-06-14	2	44.24	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10650	DADMA	7	1997-05-26	1997-06-23	1997-06-10	3	74.13	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
10651	BOSME	3	1997-05-27	1997-06-24	1997-06-04	3	30.47	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
10652	FEDAR	3	1997-05-27	1997-06-24	1997-06-11	2	124.21	Ferreira & Daughters	Havnegade 53	Århus	\N	8087	Denmark
10653	GAHMU	1	1997-05-28	1997-06-25	1997-05-31	3	154.59	Gasthaus Holm	Salzstraße 75	Münster	\N	48587	Germany
10654	FOPBE	2	1997-05-29	1997-06-26	1997-06-04	3	7.59	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10655	EPRNA	8	1997-05-30	1997-06-27	1997-06-04	1	15.45	Épicerie Rossi	36 rue de la Mer	Nantes	\N	44032	France
10656	RICSU	1	1997-05-31	1997-06-28	1997-06-13	1	20.18	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10657	HOPMA	3	1997-05-31	1997-06-28	1997-06-19	1	134.24	The Holm Pantry	Ängsvägen 91	Malmö	\N	215 88	Sweden
10658	EPELY	7	1997-06-01	1997-06-29	1997-06-06	1	90.46	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10659	GAHMU	7	1997-06-02	1997-06-30	1997-06-16	2	16.41	Gasthaus Holm	Salzstraße 75	Münster	\N	48587	Germany
10660	ZAPMA	3	1997-06-03	1997-07-01	1997-06-15	2	8.13	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10661	VAPCO	4	1997-06-04	1997-07-02	1997-06-24	1	72.52	Valdez Provisions	77 Quay Street	Cork	\N	T12 42	Ireland
10662	MABRE	8	1997-06-05	1997-07-03	1997-06-11	2	45.03	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10663	ABAPU	3	1997-06-05	1997-07-03	1997-06-10	3	45.99	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10664	PIDGR	8	1997-06-06	1997-07-04	1997-06-09	2	229.73	Pinto Delikatessen	Murgasse 13	Graz	\N	8072	Austria
10665	ALWRO	9	1997-06-07	1997-07-05	1997-06-22	2	79.41	Almacén Walsh	Avenida del Río 79	Rosario	\N	S2015	Argentina
10666	BADDU	4	1997-06-08	1997-07-06	1997-06-09	3	26.78	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10667	MAZMU	4	1997-06-09	1997-07-07	1997-06-16	1	6.98	Markthalle Zamora	Salzstraße 15	Münster	\N	48152	Germany
10668	CAGPO	7	1997-06-09	1997-07-07	1997-06-28	2	680.2	Casa Greco	Rua da Ribeira 56	Porto	\N	4123	Portugal
10669	RATTC	4	1997-06-10	1997-07-08	1997-06-14	1	3.38	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10670	MAZMU	8	1997-06-11	1997-07-09	1997-06-16	1	32.78	Markthalle Zamora	Salzstraße 15	Münster	\N	48152	Germany
10671	MAWMU	2	1997-06-12	1997-07-10	1997-06-28	1	147.22	Markthalle Walsh	Salzstraße 83	Münster	\N	48368	Germany
10672	FAPVA	8	1997-06-13	1997-07-11	1997-07-02	3	47.33	The Falk Pantry	21 Cedar Street	Vancouver	BC	V6C 9D5	Canada
10673	TAPSA	1	1997-06-13	1997-07-11	1997-06-29	1	40.59	The Tanaka Pantry	674 Oak Square	Savannah	GA	31497	USA
10674	DRETO	4	1997-06-14	1997-07-12	1997-06-21	2	13.95	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10675	CADPO	7	1997-06-15	1997-07-13	1997-06-20	2	57.43	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10676	KEPAN	4	1997-06-16	1997-07-14	1997-06-24	1	382.14	Keller Provisions	Schoenmarkt 15	Antwerpen	\N	2038	Belgium
10677	FOPBE	7	1997-06-17	1997-07-15	1997-06-29	3	68.13	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10678	EPDNA	2	1997-06-17	1997-07-15	1997-06-21	3	157.96	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
10679	RICSU	8	1997-06-18	1997-07-16	1997-07-03	1	54.13	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10680	YADAN	5	1997-06-19	1997-07-17	1997-06-23	2	31.0	Yates & Daughters	Schoenmarkt 89	Antwerpen	\N	2084	Belgium
10681	MAMNA	4	1997-06-20	1997-07-18	1997-06-28	1	23.27	Maison Marchetti	99 rue de la Mer	Nantes	\N	44041	France
10682	BADDU	8	1997-06-21	1997-07-19	1997-06-30	2	34.9	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10683	YADAN	6	1997-06-22	1997-07-20	1997-07-06	2	66.72	Yates & Daughters	Schoenmarkt 89	Antwerpen	\N	2084	Belgium
10684	CADPO	1	1997-06-22	1997-07-20	1997-06-26	1	15.16	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10685	OLPBR	8	1997-06-23	1997-07-21	1997-06-28	3	24.98	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10686	VADBR	2	1997-06-24	1997-07-22	1997-07-10	3	232.54	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
10687	ABAPU	3	1997-06-25	1997-07-23	1997-07-12	3	34.1	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10688	TAPVA	4	1997-06-26	1997-07-24	1997-07-11	2	28.42	Tanaka Provisions	37 Cedar Street	Vancouver	BC	V6C 9D2	Canada
10689	EPBNA	4	1997-06-26	1997-07-24	1997-07-15	3	57.9	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
10690	LIDBO	1	1997-06-27	1997-07-25	1997-06-29	2	30.79	Lind & Daughters	477 Canyon Avenue	Boise	ID	83785	USA
10691	EPRNA	9	1997-06-28	1997-07-26	1997-07-04	2	14.42	Épicerie Rossi	36 rue de la Mer	Nantes	\N	44032	France
10692	EMWSA	9	1997-06-29	1997-07-27	1997-07-09	1	33.16	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10693	BADDU	2	1997-06-30	1997-07-28	1997-07-08	2	26.14	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10694	ALDAR	1	1997-06-30	1997-07-28	1997-07-20	1	33.32	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10695	EKPCO	3	1997-07-01	1997-07-29	1997-07-10	2	228.25	The Eklund Pantry	51 Quay Street	Cork	\N	T12 62	Ireland
10696	KEPAN	6	1997-07-02	1997-07-30	1997-07-04	1	14.87	Keller Provisions	Schoenmarkt 15	Antwerpen	\N	2038	Belgium
10697	RODKR	4	1997-07-03	1997-07-31	1997-07-22	2	25.34	Rossi & Daughters	ul. Długa 92	Kraków	\N	31-535	Poland
10698	CADPO	7	1997-07-04	1997-08-01	1997-07-13	1	93.65	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10699	MAWMU	4	1997-07-04	1997-08-01	1997-07-20	2	53.81	Markthalle Walsh	Salzstraße 83	Münster	\N	48368	Germany
10700	MAZMU	3	1997-07-05	1997-08-02	1997-07-19	2	45.14	Markthalle Zamora	Salzstraße 15	Münster	\N	48152	Germany
10701	ZAPMA	3	1997-07-06	1997-08-03	1997-07-20	1	49.19	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10702	BADDU	3	1997-07-07	1997-08-04	1997-07-11	2	18.08	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10703	VAPCO	7	1997-07-08	1997-08-05	1997-07-13	2	7.57	Valdez Provisions	77 Quay Street	Cork	\N	T12 42	Ireland
10704	CADPO	4	1997-07-09	1997-08-06	1997-07-28	2	27.76	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10705	EMWSA	4	1997-07-09	1997-08-06	1997-07-15	3	82.9	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10706	CADPO	1	1997-07-10	1997-08-07	1997-07-17	3	20.16	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10707	EMSSA	6	1997-07-11	1997-08-08	1997-07-31	3	12.42	Empório Sandoval	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil
10708	PIDGR	1	1997-07-12	1997-08-09	1997-08-02	3	11.51	Pinto Delikatessen	Murgasse 13	Graz	\N	8072	Austria
10709	MAQRE	1	1997-07-13	1997-08-10	1997-07-25	1	63.9	Maison Quiroga	66 rue des Tonneliers	Reims	\N	51124	France
10710	PIDGR	4	1997-07-13	1997-08-10	1997-07-23	1	19.04	Pinto Delikatessen	Murgasse 13	Graz	\N	8072	Austria
10711	DADMA	4	1997-07-14	1997-08-11	1997-07-22	1	150.47	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
10712	WEPMA	2	1997-07-15	1997-08-12	1997-07-20	2	28.11	Weber Provisions	Ängsvägen 36	Malmö	\N	211 85	Sweden
10713	YADAN	8	1997-07-16	1997-08-13	1997-07-31	2	9.36	Yates & Daughters	Schoenmarkt 89	Antwerpen	\N	2084	Belgium
10714	MAMKO	9	1997-07-17	1997-08-14	1997-08-02	2	9.0	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10715	RATTC	8	1997-07-17	1997-08-14	1997-07-27	1	28.61	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10716	VAPCO	1	1997-07-18	1997-08-15	1997-07-28	1	5.22	Valdez Provisions	77 Quay Street	Cork	\N	T12 42	Ireland
10717	ZAPMA	4	1997-07-19	1997-08-16	1997-08-07	3	172.08	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10718	LAPVA	8	1997-07-20	1997-08-17	1997-07-27	1	19.57	Laurent Provisions	73 Cedar Street	Vancouver	BC	V8C 5D1	Canada
10719	HADOU	2	1997-07-21	1997-08-18	1997-08-09	3	36.02	Haas & Daughters	Satamakatu 86	Oulu	\N	90177	Finland
10720	VINET	6	1997-07-22	1997-08-19	1997-08-01	2	113.01	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
10721	IVPPO	2	1997-07-22	1997-08-19	1997-08-02	3	72.02	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10722	FEDAR	4	1997-07-23	1997-08-20	1997-08-08	3	25.53	Ferreira & Daughters	Havnegade 53	Århus	\N	8087	Denmark
10723	RICSU	1	1997-07-24	1997-08-21	1997-07-26	2	34.29	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10724	HADOU	2	1997-07-25	1997-08-22	1997-07-28	2	46.02	Haas & Daughters	Satamakatu 86	Oulu	\N	90177	Finland
10725	MAFKO	2	1997-07-26	1997-08-23	1997-08-13	2	76.29	Markthalle Fontaine	Rheinufer 75	Köln	\N	50532	Germany
10726	EPRNA	4	1997-07-26	1997-08-23	1997-08-08	2	15.85	Épicerie Rossi	36 rue de la Mer	Nantes	\N	44032	France
10727	EMKSA	4	1997-07-27	1997-08-24	1997-08-13	1	39.34	Empório Kowal	Rua das Flores, 63	São Paulo	SP	01735-086	Brazil
10728	EMSSA	4	1997-07-28	1997-08-25	1997-08-15	1	46.72	Empório Sandoval	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil
10729	THPOU	3	1997-07-29	1997-08-26	1997-08-17	1	193.91	Thorne Provisions	Satamakatu 56	Oulu	\N	90251	Finland
10730	EPDNA	8	1997-07-30	1997-08-27	1997-08-07	1	66.49	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
10731	YADAN	6	1997-07-30	1997-08-27	1997-08-19	1	62.59	Yates & Daughters	Schoenmarkt 89	Antwerpen	\N	2084	Belgium
10732	MADMO	1	1997-07-31	1997-08-28	1997-08-12	2	19.51	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10733	MAMKO	4	1997-08-01	1997-08-29	1997-08-17	3	151.94	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10734	KODCO	3	1997-08-02	1997-08-30	1997-08-10	2	7.58	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10735	BADDU	3	1997-08-03	1997-08-31	1997-08-24	3	49.98	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10736	MADNA	6	1997-08-03	1997-08-31	1997-08-16	3	14.61	Maison Dahl	45 rue de la Mer	Nantes	\N	44095	France
10737	GATKO	6	1997-08-04	1997-09-01	1997-08-11	1	26.92	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10738	MAIKO	3	1997-08-05	1997-09-02	1997-08-15	1	68.12	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10739	FAPVA	7	1997-08-06	1997-09-03	1997-08-11	3	32.82	The Falk Pantry	21 Cedar Street	Vancouver	BC	V6C 9D5	Canada
10740	ABAPU	8	1997-08-07	1997-09-04	1997-08-12	1	40.95	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10741	OLPBR	8	1997-08-08	1997-09-05	1997-08-20	3	14.92	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10742	BOSME	2	1997-08-08	1997-09-05	1997-08-16	1	12.48	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
10743	IVPPO	4	1997-08-09	1997-09-06	1997-08-10	2	34.62	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10744	KODCO	8	1997-08-10	1997-09-07	1997-08-18	1	49.14	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10745	MABRE	2	1997-08-11	1997-09-08	1997-08-29	2	18.54	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10746	YADAN	4	1997-08-12	1997-09-09	1997-08-26	1	52.54	Yates & Daughters	Schoenmarkt 89	Antwerpen	\N	2084	Belgium
10747	LOPAN	4	1997-08-12	1997-09-09	1997-08-30	1	32.56	Lopes Provisions	Schoenmarkt 96	Antwerpen	\N	2021	Belgium
10748	LOPAN	3	1997-08-13	1997-09-10	1997-08-19	3	580.59	Lopes Provisions	Schoenmarkt 96	Antwerpen	\N	2021	Belgium
10749	KODCO	4	1997-08-14	1997-09-11	1997-08-17	1	36.47	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10750	GAUMU	2	1997-08-15	1997-09-12	1997-08-18	1	16.58	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10751	CACPO	1	1997-08-16	1997-09-13	1997-09-02	2	7.49	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10752	ABVPU	8	1997-08-16	1997-09-13	1997-08-19	2	7.07	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10753	CADPO	8	1997-08-17	1997-09-14	1997-08-28	1	183.16	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10754	KODCO	4	1997-08-18	1997-09-15	1997-08-27	1	40.28	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10755	ROPKR	8	1997-08-19	1997-09-16	1997-09-04	1	16.49	Rossi Provisions	ul. Długa 52	Kraków	\N	31-137	Poland
10756	FEDAR	3	1997-08-20	1997-09-17	1997-08-21	1	61.17	Ferreira & Daughters	Havnegade 53	Århus	\N	8087	Denmark
10757	DRETO	3	1997-08-20	1997-09-17	1997-09-04	2	6.38	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10758	MADLY	3	1997-08-21	1997-09-18	1997-08-22	3	86.95	Maison Duarte	24 quai du Rhône	Lyon	\N	69037	France
10759	CADPO	6	1997-08-22	1997-09-19	1997-08-26	3	11.25	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10760	MAMKO	4	1997-08-23	1997-09-20	1997-09-03	2	22.69	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10761	FOPBE	7	1997-08-24	1997-09-21	1997-09-06	1	85.51	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10762	EMWSA	7	1997-08-25	1997-09-22	1997-08-28	1	32.27	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10763	RATTC	7	1997-08-25	1997-09-22	1997-09-02	3	27.53	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10764	EMSSA	6	1997-08-26	1997-09-23	1997-08-28	2	11.85	Empório Sandoval	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil
10765	CAGPO	4	1997-08-27	1997-09-24	1997-09-06	1	20.85	Casa Greco	Rua da Ribeira 56	Porto	\N	4123	Portugal
10766	ABAPU	2	1997-08-28	1997-09-25	1997-08-31	1	18.93	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10767	FAPVA	3	1997-08-29	1997-09-26	1997-09-16	2	181.42	The Falk Pantry	21 Cedar Street	Vancouver	BC	V6C 9D5	Canada
10768	EPKNA	4	1997-08-29	1997-09-26	1997-09-01	1	12.59	Épicerie Kowal	74 rue de la Mer	Nantes	\N	44079	France
10769	GRFGE	1	1997-08-30	1997-09-27	1997-09-09	3	17.24	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
10770	OLPBR	7	1997-08-31	1997-09-28	1997-09-14	1	26.36	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10771	WAPOU	9	1997-09-01	1997-09-29	1997-09-05	1	10.16	The Walsh Pantry	Satamakatu 28	Oulu	\N	90712	Finland
10772	TAPSA	9	1997-09-02	1997-09-30	1997-09-15	1	193.99	The Tanaka Pantry	674 Oak Square	Savannah	GA	31497	USA
10773	GATKO	2	1997-09-02	1997-09-30	1997-09-05	3	5.9	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10774	EPELY	4	1997-09-03	1997-10-01	1997-09-24	1	11.74	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10775	GAHMU	4	1997-09-04	1997-10-02	1997-09-08	2	253.87	Gasthaus Holm	Salzstraße 75	Münster	\N	48587	Germany
10776	EPELY	2	1997-09-05	1997-10-03	1997-09-13	2	70.46	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10777	RATTC	8	1997-09-06	1997-10-04	1997-09-25	3	19.92	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10778	MABRE	2	1997-09-07	1997-10-05	1997-09-17	1	72.24	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10779	ABAPU	3	1997-09-07	1997-10-05	1997-09-24	3	140.36	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10780	HADOU	3	1997-09-08	1997-10-06	1997-09-26	3	5.95	Haas & Daughters	Satamakatu 86	Oulu	\N	90177	Finland
10781	ABVPU	3	1997-09-09	1997-10-07	1997-09-24	2	50.47	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10782	HADOU	7	1997-09-10	1997-10-08	1997-09-20	2	70.07	Haas & Daughters	Satamakatu 86	Oulu	\N	90177	Finland
10783	IVPPO	2	1997-09-11	1997-10-09	1997-09-19	2	13.9	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10784	WAPOU	4	1997-09-11	1997-10-09	1997-09-28	2	214.2	The Walsh Pantry	Satamakatu 28	Oulu	\N	90712	Finland
10785	HAPAN	1	1997-09-12	1997-10-10	1997-09-28	1	201.57	The Haas Pantry	Schoenmarkt 84	Antwerpen	\N	2087	Belgium
10786	MASKO	4	1997-09-13	1997-10-11	1997-09-23	1	104.92	Markthalle Steiner	Rheinufer 13	Köln	\N	50186	Germany
10787	BOSME	4	1997-09-14	1997-10-12	1997-09-18	2	2.53	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
10788	WEPMA	8	1997-09-15	1997-10-13	1997-10-06	1	6.36	Weber Provisions	Ängsvägen 36	Malmö	\N	211 85	Sweden
10789	GAHMU	8	1997-09-15	1997-10-13	1997-09-30	2	48.65	Gasthaus Holm	Salzstraße 75	Münster	\N	48587	Germany
10790	EMSSA	1	1997-09-16	1997-10-14	1997-10-01	3	31.85	Empório Sandoval	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil
10791	GAMKO	3	1997-09-17	1997-10-15	1997-09-20	1	62.09	Gasthaus Meier	Rheinufer 31	Köln	\N	50274	Germany
10792	EPBNA	2	1997-09-18	1997-10-16	1997-09-20	1	9.92	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
10793	EPBNA	8	1997-09-19	1997-10-17	1997-10-06	1	23.32	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
10794	THPOU	1	1997-09-19	1997-10-17	1997-09-29	1	12.78	Thorne Provisions	Satamakatu 56	Oulu	\N	90251	Finland
10795	EMKSA	3	1997-09-20	1997-10-18	1997-10-05	3	28.33	Empório Kowal	Rua das Flores, 63	São Paulo	SP	01735-086	Brazil
10796	MAMKO	3	1997-09-21	1997-10-19	1997-10-04	2	8.43	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10797	EMKSA	7	1997-09-22	1997-10-20	1997-10-05	1	28.69	Empório Kowal	Rua das Flores, 63	São Paulo	SP	01735-086	Brazil
10798	DRETO	1	1997-09-23	1997-10-21	1997-09-26	1	25.07	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10799	MASKO	1	1997-09-24	1997-10-22	1997-10-05	1	29.8	Markthalle Steiner	Rheinufer 13	Köln	\N	50186	Germany
10800	MEPPO	8	1997-09-24	1997-10-22	1997-10-05	2	3.9	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10801	GATKO	2	1997-09-25	1997-10-23	1997-10-01	1	46.18	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10802	CAJSE	4	1997-09-26	1997-10-24	1997-09-30	2	124.93	Casa Jansen	Calle Azahar 87	Sevilla	\N	41023	Spain
10803	EPKNA	4	1997-09-27	1997-10-25	1997-10-09	3	6.44	Épicerie Kowal	74 rue de la Mer	Nantes	\N	44079	France
10804	ABVPU	8	1997-09-28	1997-10-26	1997-09-30	1	50.44	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10805	MAMKO	6	1997-09-28	1997-10-26	1997-10-11	2	10.57	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
10806	MADMO	8	1997-09-29	1997-10-27	1997-09-30	3	6.0	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10807	VINET	1	1997-09-30	1997-10-28	1997-10-12	3	26.64	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
10808	MEPAN	8	1997-10-01	1997-10-29	1997-10-13	2	24.16	The Meier Pantry	Schoenmarkt 84	Antwerpen	\N	2067	Belgium
10809	WAPOU	7	1997-10-02	1997-10-30	1997-10-22	1	64.39	The Walsh Pantry	Satamakatu 28	Oulu	\N	90712	Finland
10810	MEPPO	3	1997-10-02	1997-10-30	1997-10-21	1	26.8	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10811	BOUME	8	1997-10-03	1997-10-31	1997-10-20	1	24.65	Bodega Urquhart	Avenida Sucre 65	Mérida	\N	5156	Venezuela
10812	OLPBR	2	1997-10-04	1997-11-01	1997-10-20	3	5.64	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10813	CACPO	1	1997-10-05	1997-11-02	1997-10-26	2	44.52	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10814	EPBNA	8	1997-10-06	1997-11-03	1997-10-18	3	52.96	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
10815	MAIKO	1	1997-10-06	1997-11-03	1997-10-19	3	8.67	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10816	MABRE	9	1997-10-07	1997-11-04	1997-10-19	1	20.73	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10817	QUPDU	9	1997-10-08	1997-11-05	1997-10-25	2	34.48	Quiroga Provisions	594 Lake Avenue	Duluth	MN	55877	USA
10818	ALWRO	4	1997-10-09	1997-11-06	1997-10-16	3	63.14	Almacén Walsh	Avenida del Río 79	Rosario	\N	S2015	Argentina
10819	CADPO	6	1997-10-10	1997-11-07	1997-10-26	3	79.76	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10820	MASKO	2	1997-10-11	1997-11-08	1997-10-26	2	58.26	Markthalle Steiner	Rheinufer 13	Köln	\N	50186	Germany
10821	CADPO	1	1997-10-11	1997-11-08	1997-10-13	3	54.69	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10822	ABAPU	2	1997-10-12	1997-11-09	1997-10-14	3	4.92	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10823	VINET	1	1997-10-13	1997-11-10	1997-11-02	3	28.55	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
10824	GAUMU	2	1997-10-14	1997-11-11	1997-10-25	1	100.13	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10825	VADBR	2	1997-10-15	1997-11-12	1997-10-30	3	44.18	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
10826	EPELY	8	1997-10-15	1997-11-12	1997-10-27	2	17.4	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10827	DADMA	8	1997-10-16	1997-11-13	1997-10-23	3	9.16	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
10828	ABAPU	6	1997-10-17	1997-11-14	1997-10-20	1	26.26	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10829	MEPAN	4	1997-10-18	1997-11-15	1997-11-01	3	10.49	The Meier Pantry	Schoenmarkt 84	Antwerpen	\N	2067	Belgium
10830	KODCO	7	1997-10-19	1997-11-16	1997-10-26	2	5.16	Kowal & Daughters	41 Quay Street	Cork	\N	T12 97	Ireland
10831	OLPBR	8	1997-10-19	1997-11-16	1997-11-05	2	15.43	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10832	ABAPU	2	1997-10-20	1997-11-17	1997-10-23	2	26.08	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10833	MAWMU	8	1997-10-21	1997-11-18	1997-11-06	3	16.59	Markthalle Walsh	Salzstraße 83	Münster	\N	48368	Germany
10834	YADAN	1	1997-10-22	1997-11-19	1997-10-31	1	54.77	Yates & Daughters	Schoenmarkt 89	Antwerpen	\N	2084	Belgium
10835	CAGPO	8	1997-10-23	1997-11-20	1997-10-31	3	13.57	Casa Greco	Rua da Ribeira 56	Porto	\N	4123	Portugal
10836	GRFGE	4	1997-10-24	1997-11-21	1997-11-09	2	43.09	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
10837	ALWRO	7	1997-10-24	1997-11-21	1997-11-14	1	58.28	Almacén Walsh	Avenida del Río 79	Rosario	\N	S2015	Argentina
10838	IVPPO	8	1997-10-25	1997-11-22	1997-11-07	1	31.41	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10839	CADPO	7	1997-10-26	1997-11-23	1997-11-09	3	55.0	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10840	FEDAR	6	1997-10-27	1997-11-24	1997-11-02	1	23.77	Ferreira & Daughters	Havnegade 53	Århus	\N	8087	Denmark
10841	VAPCO	9	1997-10-28	1997-11-25	1997-11-18	2	24.6	Valdez Provisions	77 Quay Street	Cork	\N	T12 42	Ireland
10842	ABAPU	4	1997-10-28	1997-11-25	1997-10-29	2	42.81	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10843	HADOU	2	1997-10-29	1997-11-26	1997-11-06	3	15.1	Haas & Daughters	Satamakatu 86	Oulu	\N	90177	Finland
10844	RODKR	2	1997-10-30	1997-11-27	1997-11-12	2	327.6	Rossi & Daughters	ul. Długa 92	Kraków	\N	31-535	Poland
10845	RODKR	3	1997-10-31	1997-11-28	1997-11-19	3	86.53	Rossi & Daughters	ul. Długa 92	Kraków	\N	31-535	Poland
10846	ABAPU	1	1997-11-01	1997-11-29	1997-11-16	1	4.27	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10847	MAIKO	8	1997-11-01	1997-11-29	1997-11-02	3	14.23	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10848	RODKR	6	1997-11-02	1997-11-30	1997-11-22	3	45.37	Rossi & Daughters	ul. Długa 92	Kraków	\N	31-535	Poland
10849	MODCO	4	1997-11-03	1997-12-01	1997-11-12	2	5.21	Moreau & Daughters	24 Quay Street	Cork	\N	T12 93	Ireland
10850	EPBNA	7	1997-11-04	1997-12-02	1997-11-23	1	11.71	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
10851	DRETO	4	1997-11-05	1997-12-03	1997-11-20	1	47.47	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10852	DRFTO	8	1997-11-05	1997-12-03	1997-11-11	2	5.43	Drogheria Ferreira	Via dei Colli 94	Torino	\N	10119	Italy
10853	THPOU	4	1997-11-06	1997-12-04	1997-11-10	2	18.62	Thorne Provisions	Satamakatu 56	Oulu	\N	90251	Finland
10854	MEPPO	1	1997-11-07	1997-12-05	1997-11-19	1	17.31	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10855	LOPOU	4	1997-11-08	1997-12-06	1997-11-11	2	34.73	The Lopes Pantry	Satamakatu 61	Oulu	\N	90373	Finland
10856	ABAPU	5	1997-11-09	1997-12-07	1997-11-14	1	52.47	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10857	ABAPU	1	1997-11-10	1997-12-08	1997-11-23	1	21.55	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10858	MEPPO	9	1997-11-10	1997-12-08	1997-11-25	1	8.52	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10859	EPKNA	3	1997-11-11	1997-12-09	1997-11-18	1	43.04	Épicerie Kowal	74 rue de la Mer	Nantes	\N	44079	France
10860	NOPBR	1	1997-11-12	1997-12-10	1997-11-26	1	21.84	The Nowak Pantry	68 Harbour Row	Bristol	Avon	BS8 3LT	UK
10861	RICSU	8	1997-11-13	1997-12-11	1997-11-16	3	25.92	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10862	TAPSA	3	1997-11-14	1997-12-12	1997-11-29	1	19.76	The Tanaka Pantry	674 Oak Square	Savannah	GA	31497	USA
10863	HADOU	1	1997-11-14	1997-12-12	1997-12-02	2	48.73	Haas & Daughters	Satamakatu 86	Oulu	\N	90177	Finland
10864	MAZMU	1	1997-11-15	1997-12-13	1997-11-27	3	90.87	Markthalle Zamora	Salzstraße 15	Münster	\N	48152	Germany
10865	MAPDU	7	1997-11-16	1997-12-14	1997-11-29	1	93.03	The Marchetti Pantry	557 Lake Avenue	Duluth	MN	55857	USA
10866	MALLE	4	1997-11-17	1997-12-15	1997-11-25	1	67.68	Markthalle Laurent	Lindenallee 29	Leipzig	\N	04633	Germany
10867	EPRNA	7	1997-11-18	1997-12-16	1997-11-25	2	42.03	Épicerie Rossi	36 rue de la Mer	Nantes	\N	44032	France
10868	ABAPU	1	1997-11-18	1997-12-16	1997-11-25	2	5.81	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10869	DRFTO	7	1997-11-19	1997-12-17	1997-11-30	1	71.69	Drogheria Ferreira	Via dei Colli 94	Torino	\N	10119	Italy
10870	MADMO	3	1997-11-20	1997-12-18	1997-12-05	2	21.55	Marchetti & Daughters	58 rue Saint-Gabriel	Montréal	Québec	H4A 9B4	Canada
10871	LIDBO	4	1997-11-21	1997-12-19	1997-11-22	3	9.74	Lind & Daughters	477 Canyon Avenue	Boise	ID	83785	USA
10872	EPELY	4	1997-11-22	1997-12-20	1997-12-07	2	300.08	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10873	RATTC	5	1997-11-22	1997-12-20	1997-11-30	2	8.91	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10874	EPELY	5	1997-11-23	1997-12-21	1997-11-29	2	91.95	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10875	DRETO	1	1997-11-24	1997-12-22	1997-12-15	1	85.77	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10876	LOPOU	3	1997-11-25	1997-12-23	1997-12-15	3	2.35	The Lopes Pantry	Satamakatu 61	Oulu	\N	90373	Finland
10877	CADPO	5	1997-11-26	1997-12-24	1997-12-04	1	270.65	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10878	YADAN	8	1997-11-27	1997-12-25	1997-12-14	3	219.2	Yates & Daughters	Schoenmarkt 89	Antwerpen	\N	2084	Belgium
10879	MATKO	6	1997-11-27	1997-12-25	1997-12-01	3	31.45	Markthalle Thorne	Rheinufer 93	Köln	\N	50417	Germany
10880	GAUMU	3	1997-11-28	1997-12-26	1997-12-16	3	5.88	Gasthaus Urquhart	Salzstraße 61	Münster	\N	48551	Germany
10881	RATTC	7	1997-11-29	1997-12-27	1997-12-08	2	11.15	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10882	RICSU	3	1997-11-30	1997-12-28	1997-12-02	3	243.55	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10883	GATKO	8	1997-12-01	1997-12-29	1997-12-12	2	13.53	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10884	DRFTO	4	1997-12-01	1997-12-29	1997-12-17	1	13.82	Drogheria Ferreira	Via dei Colli 94	Torino	\N	10119	Italy
10885	ZAPMA	7	1997-12-02	1997-12-30	1997-12-20	3	9.56	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10886	RICSU	8	1997-12-03	1997-12-31	1997-12-09	1	108.64	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10887	EMWSA	3	1997-12-04	1998-01-01	1997-12-24	3	36.06	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10888	SAPMO	4	1997-12-05	1998-01-02	1997-12-17	3	6.19	The Sandoval Pantry	84 rue Saint-Gabriel	Montréal	Québec	H9A 7B4	Canada
10889	CADPO	8	1997-12-05	1998-01-02	1997-12-14	1	14.83	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10890	EMHSA	4	1997-12-06	1998-01-03	1997-12-14	2	33.96	Empório Holm	Rua das Flores, 87	São Paulo	SP	01495-038	Brazil
10891	GATKO	9	1997-12-07	1998-01-04	1997-12-10	2	35.97	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10892	CAJSE	8	1997-12-08	1998-01-05	1997-12-13	2	12.76	Casa Jansen	Calle Azahar 87	Sevilla	\N	41023	Spain
10893	WEPMA	9	1997-12-09	1998-01-06	1997-12-19	2	25.88	Weber Provisions	Ängsvägen 36	Malmö	\N	211 85	Sweden
10894	CADPO	7	1997-12-10	1998-01-07	1997-12-30	2	277.97	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10895	MAFKO	2	1997-12-10	1998-01-07	1997-12-20	2	25.64	Markthalle Fontaine	Rheinufer 75	Köln	\N	50532	Germany
10896	BEPAN	9	1997-12-11	1998-01-08	1997-12-26	3	33.08	The Bellini Pantry	Schoenmarkt 11	Antwerpen	\N	2089	Belgium
10897	ZAPMA	4	1997-12-12	1998-01-09	1997-12-28	1	46.19	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10898	CADPO	2	1997-12-13	1998-01-10	1997-12-31	3	28.55	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10899	EPELY	1	1997-12-14	1998-01-11	1997-12-29	2	12.12	Épicerie Eklund	88 quai du Rhône	Lyon	\N	69083	France
10900	MAZMU	4	1997-12-14	1998-01-11	1997-12-28	2	47.88	Markthalle Zamora	Salzstraße 15	Münster	\N	48152	Germany
10901	MAIKO	4	1997-12-15	1998-01-12	1998-01-02	2	45.05	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10902	VINET	8	1997-12-16	1998-01-13	1997-12-24	1	13.66	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
10903	ALDAR	8	1997-12-17	1998-01-14	1997-12-29	3	10.81	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10904	EPKNA	4	1997-12-18	1998-01-15	1997-12-24	1	45.2	Épicerie Kowal	74 rue de la Mer	Nantes	\N	44079	France
10905	OLPBR	2	1997-12-18	1998-01-15	1998-01-02	1	22.38	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10906	KEPAN	7	1997-12-19	1998-01-16	1997-12-27	2	162.34	Keller Provisions	Schoenmarkt 15	Antwerpen	\N	2038	Belgium
10907	CAJSE	1	1997-12-20	1998-01-17	1997-12-21	1	82.08	Casa Jansen	Calle Azahar 87	Sevilla	\N	41023	Spain
10908	MALLE	1	1997-12-21	1998-01-18	1997-12-27	1	18.97	Markthalle Laurent	Lindenallee 29	Leipzig	\N	04633	Germany
10909	MALLE	2	1997-12-22	1998-01-19	1997-12-27	3	30.53	Markthalle Laurent	Lindenallee 29	Leipzig	\N	04633	Germany
10910	EMWSA	1	1997-12-22	1998-01-19	1998-01-03	2	51.88	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10911	KEPAN	3	1997-12-23	1998-01-20	1998-01-07	3	9.04	Keller Provisions	Schoenmarkt 15	Antwerpen	\N	2038	Belgium
10912	CACPO	1	1997-12-24	1998-01-21	1998-01-14	3	11.19	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10913	ABVPU	7	1997-12-25	1998-01-22	1998-01-14	3	68.19	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10914	EPKNA	1	1997-12-26	1998-01-23	1998-01-12	2	25.79	Épicerie Kowal	74 rue de la Mer	Nantes	\N	44079	France
10915	VOFGE	3	1997-12-27	1998-01-24	1998-01-07	2	4.97	Vogel Feinkost	Rue du Lac 14	Genève	\N	1275	Switzerland
10916	MAIKO	8	1997-12-27	1998-01-24	1998-01-09	3	15.01	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10917	RICSU	4	1997-12-28	1998-01-25	1998-01-12	2	13.45	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
10918	FOPBE	6	1997-12-29	1998-01-26	1998-01-04	1	407.1	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10919	CAKPU	8	1997-12-30	1998-01-27	1998-01-20	2	24.46	Casa Keller	Calle Jacaranda 73	Puebla	\N	72498	Mexico
10920	MAALY	1	1997-12-31	1998-01-28	1998-01-19	1	94.66	Maison Aldana	11 quai du Rhône	Lyon	\N	69012	France
10921	MEPAN	7	1997-12-31	1998-01-28	1998-01-15	1	61.21	The Meier Pantry	Schoenmarkt 84	Antwerpen	\N	2067	Belgium
10922	VADBR	3	1998-01-01	1998-01-29	1998-01-12	2	119.39	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
10923	ABAPU	7	1998-01-02	1998-01-30	1998-01-08	2	20.09	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10924	BADDU	4	1998-01-03	1998-01-31	1998-01-13	1	58.34	Bakke & Daughters	982 Lake Avenue	Duluth	MN	55881	USA
10925	ABVPU	4	1998-01-04	1998-02-01	1998-01-20	1	27.92	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10926	SAPMO	4	1998-01-04	1998-02-01	1998-01-19	1	38.33	The Sandoval Pantry	84 rue Saint-Gabriel	Montréal	Québec	H9A 7B4	Canada
10927	LIFBE	1	1998-01-05	1998-02-02	1998-01-26	1	40.25	Lind Feinkost	Brunnengasse 75	Bern	\N	3026	Switzerland
10928	CACPO	4	1998-01-06	1998-02-03	1998-01-14	3	8.89	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
10929	OLPBR	6	1998-01-07	1998-02-04	1998-01-11	2	32.29	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10930	EMKSA	7	1998-01-08	1998-02-05	1998-01-15	1	168.45	Empório Kowal	Rua das Flores, 63	São Paulo	SP	01735-086	Brazil
10931	CADPO	2	1998-01-08	1998-02-05	1998-01-27	2	15.57	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10932	ALDAR	1	1998-01-09	1998-02-06	1998-01-25	3	19.28	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10933	GALKO	2	1998-01-10	1998-02-07	1998-01-29	3	68.4	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
10934	CADPO	3	1998-01-11	1998-02-08	1998-01-13	3	16.91	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10935	PIDGR	1	1998-01-12	1998-02-09	1998-01-23	2	141.28	Pinto Delikatessen	Murgasse 13	Graz	\N	8072	Austria
10936	ABAPU	2	1998-01-13	1998-02-10	1998-01-30	3	16.11	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
10937	LAPVA	3	1998-01-13	1998-02-10	1998-02-01	3	36.21	Laurent Provisions	73 Cedar Street	Vancouver	BC	V8C 5D1	Canada
10938	DRFTO	3	1998-01-14	1998-02-11	1998-01-15	2	10.34	Drogheria Ferreira	Via dei Colli 94	Torino	\N	10119	Italy
10939	ABVPU	4	1998-01-15	1998-02-12	1998-01-16	1	131.74	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10940	MABRE	4	1998-01-16	1998-02-13	1998-02-01	1	60.07	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10941	MABRE	6	1998-01-17	1998-02-14	1998-01-26	3	11.15	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
10942	HOPMA	6	1998-01-17	1998-02-14	1998-02-01	2	34.99	The Holm Pantry	Ängsvägen 91	Malmö	\N	215 88	Sweden
10943	OLPBR	7	1998-01-18	1998-02-15	1998-01-25	3	157.97	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10944	EPDNA	4	1998-01-19	1998-02-16	1998-02-02	1	57.45	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
10945	GATKO	1	1998-01-20	1998-02-17	1998-02-05	2	103.35	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
10946	ALDAR	6	1998-01-21	1998-02-18	1998-02-10	2	4.26	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10947	DADMA	1	1998-01-21	1998-02-18	1998-02-10	2	110.29	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
10948	HOPMA	7	1998-01-22	1998-02-19	1998-02-03	1	45.41	The Holm Pantry	Ängsvägen 91	Malmö	\N	215 88	Sweden
10949	BOUME	8	1998-01-23	1998-02-20	1998-01-27	2	14.53	Bodega Urquhart	Avenida Sucre 65	Mérida	\N	5156	Venezuela
10950	EMWSA	2	1998-01-24	1998-02-21	1998-02-06	3	23.4	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10951	QUPDU	4	1998-01-25	1998-02-22	1998-02-09	2	62.5	Quiroga Provisions	594 Lake Avenue	Duluth	MN	55877	USA
10952	CAJSE	3	1998-01-26	1998-02-23	1998-02-16	2	11.47	Casa Jansen	Calle Azahar 87	Sevilla	\N	41023	Spain
10953	MAMNA	1	1998-01-26	1998-02-23	1998-02-01	1	53.0	Maison Marchetti	99 rue de la Mer	Nantes	\N	44041	France
10954	MALLE	6	1998-01-27	1998-02-24	1998-02-10	2	14.68	Markthalle Laurent	Lindenallee 29	Leipzig	\N	04633	Germany
10955	CADPO	7	1998-01-28	1998-02-25	1998-02-13	3	241.25	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10956	CAGPO	8	1998-01-29	1998-02-26	1998-01-30	3	48.61	Casa Greco	Rua da Ribeira 56	Porto	\N	4123	Portugal
10957	EMWSA	3	1998-01-30	1998-02-27	1998-02-18	1	121.89	Empório Weber	Rua das Flores, 94	São Paulo	SP	01968-045	Brazil
10958	ROPKR	4	1998-01-30	1998-02-27	1998-02-07	1	79.92	Rossi Provisions	ul. Długa 52	Kraków	\N	31-137	Poland
10959	LIDBO	4	1998-01-31	1998-02-28	1998-02-21	2	33.43	Lind & Daughters	477 Canyon Avenue	Boise	ID	83785	USA
10960	MAWMU	2	1998-02-01	1998-03-01	1998-02-05	3	67.05	Markthalle Walsh	Salzstraße 83	Münster	\N	48368	Germany
10961	ALWRO	6	1998-02-02	1998-03-02	1998-02-05	1	146.62	Almacén Walsh	Avenida del Río 79	Rosario	\N	S2015	Argentina
10962	ABVPU	4	1998-02-03	1998-03-03	1998-02-23	3	15.27	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10963	EPBNA	5	1998-02-03	1998-03-03	1998-02-11	3	33.31	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
10964	MALLE	2	1998-02-04	1998-03-04	1998-02-19	2	25.64	Markthalle Laurent	Lindenallee 29	Leipzig	\N	04633	Germany
10965	HADOU	4	1998-02-05	1998-03-05	1998-02-12	2	87.53	Haas & Daughters	Satamakatu 86	Oulu	\N	90177	Finland
10966	CADPO	9	1998-02-06	1998-03-06	1998-02-15	2	11.37	Castro & Daughters	645 River Street	Portland	OR	97275	USA
10967	ALDAR	2	1998-02-07	1998-03-07	1998-02-21	1	27.07	Aldana & Daughters	Havnegade 21	Århus	\N	8045	Denmark
10968	ABVPU	9	1998-02-07	1998-03-07	1998-02-28	1	15.36	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10969	IVPPO	9	1998-02-08	1998-03-08	1998-02-21	3	73.92	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10970	VINET	8	1998-02-09	1998-03-09	1998-02-12	3	215.36	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
10971	EPDNA	8	1998-02-10	1998-03-10	1998-02-13	1	34.45	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
10972	FOPBE	3	1998-02-11	1998-03-11	1998-02-28	2	25.09	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
10973	HAPAN	8	1998-02-12	1998-03-12	1998-02-16	2	56.0	The Haas Pantry	Schoenmarkt 84	Antwerpen	\N	2087	Belgium
10974	ZAPMA	2	1998-02-12	1998-03-12	1998-02-15	2	2.47	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10975	ZAPMA	6	1998-02-13	1998-03-13	1998-02-14	1	16.58	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
10976	OLPBR	8	1998-02-14	1998-03-14	1998-02-15	2	10.21	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10977	GALKO	4	1998-02-15	1998-03-15	1998-02-26	2	110.47	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
10978	LOPOU	8	1998-02-16	1998-03-16	1998-03-02	1	46.46	The Lopes Pantry	Satamakatu 61	Oulu	\N	90373	Finland
10979	THPOU	4	1998-02-16	1998-03-16	1998-03-03	2	91.38	Thorne Provisions	Satamakatu 56	Oulu	\N	90251	Finland
10980	EKPCO	9	1998-02-17	1998-03-17	1998-03-01	1	8.17	The Eklund Pantry	51 Quay Street	Cork	\N	T12 62	Ireland
10981	DRETO	4	1998-02-18	1998-03-18	1998-03-07	1	60.83	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
10982	MAIKO	4	1998-02-19	1998-03-19	1998-02-25	1	53.65	Markthalle Iversen	Rheinufer 17	Köln	\N	50144	Germany
10983	EMKSA	7	1998-02-20	1998-03-20	1998-03-12	1	75.03	Empório Kowal	Rua das Flores, 63	São Paulo	SP	01735-086	Brazil
10984	RODKR	6	1998-02-20	1998-03-20	1998-02-26	3	11.28	Rossi & Daughters	ul. Długa 92	Kraków	\N	31-535	Poland
10985	HOPMA	2	1998-02-21	1998-03-21	1998-02-27	2	370.78	The Holm Pantry	Ängsvägen 91	Malmö	\N	215 88	Sweden
10986	ABVPU	6	1998-02-22	1998-03-22	1998-03-01	2	84.84	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
10987	BAPBO	8	1998-02-23	1998-03-23	1998-02-27	1	351.34	The Bakke Pantry	882 Canyon Avenue	Boise	ID	83766	USA
10988	MODCO	9	1998-02-24	1998-03-24	1998-03-13	3	5.36	Moreau & Daughters	24 Quay Street	Cork	\N	T12 93	Ireland
10989	IVPPO	7	1998-02-24	1998-03-24	1998-03-14	2	24.27	Iversen Provisions	232 River Street	Portland	OR	97278	USA
10990	VADBR	7	1998-02-25	1998-03-25	1998-02-26	3	31.58	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
10991	MAALY	3	1998-02-26	1998-03-26	1998-02-28	2	110.51	Maison Aldana	11 quai du Rhône	Lyon	\N	69012	France
10992	LIDBO	4	1998-02-27	1998-03-27	1998-03-17	2	151.52	Lind & Daughters	477 Canyon Avenue	Boise	ID	83785	USA
10993	OLPBR	6	1998-02-28	1998-03-28	1998-03-01	3	87.03	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
10994	YAPAR	9	1998-03-01	1998-03-29	1998-03-06	1	19.18	Yates Provisions	Havnegade 44	Århus	\N	8074	Denmark
10995	MEPPO	8	1998-03-01	1998-03-29	1998-03-13	2	250.07	Mercearia Pinto	Rua da Ribeira 44	Porto	\N	4292	Portugal
10996	BEPAN	8	1998-03-02	1998-03-30	1998-03-15	1	33.74	The Bellini Pantry	Schoenmarkt 11	Antwerpen	\N	2089	Belgium
10997	RATTC	6	1998-03-03	1998-03-31	1998-03-05	3	190.08	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
10998	MAFKO	7	1998-03-04	1998-04-01	1998-03-18	1	15.64	Markthalle Fontaine	Rheinufer 75	Köln	\N	50532	Germany
10999	GATKO	3	1998-03-05	1998-04-02	1998-03-21	2	158.03	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
11000	CACPO	2	1998-03-05	1998-04-02	1998-03-10	2	31.22	Casa Castro	Rua da Ribeira 24	Porto	\N	4143	Portugal
11001	GALKO	4	1998-03-06	1998-04-03	1998-03-27	3	48.33	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
11002	ZAPMA	3	1998-03-07	1998-04-04	1998-03-11	2	25.53	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
11003	MALLE	3	1998-03-08	1998-04-05	1998-03-23	1	15.27	Markthalle Laurent	Lindenallee 29	Leipzig	\N	04633	Germany
11004	VOFGE	8	1998-03-09	1998-04-06	1998-03-10	3	36.87	Vogel Feinkost	Rue du Lac 14	Genève	\N	1275	Switzerland
11005	MAQRE	7	1998-03-09	1998-04-06	1998-03-20	3	44.13	Maison Quiroga	66 rue des Tonneliers	Reims	\N	51124	France
11006	ZAPMA	8	1998-03-10	1998-04-07	1998-03-31	1	41.58	Zamora Provisions	Ängsvägen 72	Malmö	\N	213 72	Sweden
11007	FEDAR	8	1998-03-11	1998-04-08	1998-03-30	3	220.14	Ferreira & Daughters	Havnegade 53	Århus	\N	8087	Denmark
11008	BEPAN	4	1998-03-12	1998-04-09	\N	1	282.07	The Bellini Pantry	Schoenmarkt 11	Antwerpen	\N	2089	Belgium
11009	BAPBO	8	1998-03-13	1998-04-10	\N	3	11.99	The Bakke Pantry	882 Canyon Avenue	Boise	ID	83766	USA
11010	VINET	4	1998-03-14	1998-04-11	\N	3	3.62	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
11011	EPDNA	2	1998-03-14	1998-04-11	1998-03-22	1	8.45	Épicerie Dahl	38 rue de la Mer	Nantes	\N	44016	France
11012	MASKO	1	1998-03-15	1998-04-12	1998-04-04	2	47.25	Markthalle Steiner	Rheinufer 13	Köln	\N	50186	Germany
11013	BOSME	5	1998-03-16	1998-04-13	1998-03-30	2	222.58	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
11014	OLPBR	1	1998-03-17	1998-04-14	1998-03-18	2	25.98	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
11015	CADPO	3	1998-03-18	1998-04-15	1998-03-20	2	37.16	Castro & Daughters	645 River Street	Portland	OR	97275	USA
11016	MATKO	1	1998-03-18	1998-04-15	\N	1	68.92	Markthalle Thorne	Rheinufer 93	Köln	\N	50417	Germany
11017	VADBR	5	1998-03-19	1998-04-16	\N	2	7.81	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
11018	BEPAN	1	1998-03-20	1998-04-17	1998-03-27	3	26.09	The Bellini Pantry	Schoenmarkt 11	Antwerpen	\N	2089	Belgium
11019	OLPBR	3	1998-03-21	1998-04-18	1998-04-01	2	32.25	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
11020	FAPVA	3	1998-03-22	1998-04-19	\N	2	222.2	The Falk Pantry	21 Cedar Street	Vancouver	BC	V6C 9D5	Canada
11021	MABRE	1	1998-03-22	1998-04-19	1998-04-09	3	8.79	Maison Bakke	13 rue des Tonneliers	Reims	\N	51113	France
11022	MAMKO	8	1998-03-23	1998-04-20	1998-04-10	1	225.36	Markthalle Moreau	Rheinufer 19	Köln	\N	50195	Germany
11023	VINET	8	1998-03-24	1998-04-21	1998-04-06	2	18.48	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
11024	RICSU	6	1998-03-25	1998-04-22	\N	2	23.7	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
11025	BOUME	8	1998-03-26	1998-04-23	\N	3	39.28	Bodega Urquhart	Avenida Sucre 65	Mérida	\N	5156	Venezuela
11026	FOPBE	4	1998-03-26	1998-04-23	1998-04-05	2	55.69	Fontaine Provisions	Fjordveien 88	Bergen	\N	5082	Norway
11027	BOSME	9	1998-03-27	1998-04-24	1998-04-08	2	11.03	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
11028	BEPAN	4	1998-03-28	1998-04-25	1998-04-12	3	29.74	The Bellini Pantry	Schoenmarkt 11	Antwerpen	\N	2089	Belgium
11029	VADBR	2	1998-03-29	1998-04-26	1998-04-07	2	73.71	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
11030	DRFTO	3	1998-03-30	1998-04-27	1998-04-16	2	39.03	Drogheria Ferreira	Via dei Colli 94	Torino	\N	10119	Italy
11031	QUPDU	9	1998-03-31	1998-04-28	1998-04-18	3	29.71	Quiroga Provisions	594 Lake Avenue	Duluth	MN	55877	USA
11032	MAFKO	1	1998-03-31	1998-04-28	1998-04-20	2	24.13	Markthalle Fontaine	Rheinufer 75	Köln	\N	50532	Germany
11033	VOFGE	2	1998-04-01	1998-04-29	1998-04-07	2	23.55	Vogel Feinkost	Rue du Lac 14	Genève	\N	1275	Switzerland
11034	ROPKR	4	1998-04-02	1998-04-30	1998-04-19	3	638.38	Rossi Provisions	ul. Długa 52	Kraków	\N	31-137	Poland
11035	HADOU	1	1998-04-03	1998-05-01	1998-04-21	2	17.12	Haas & Daughters	Satamakatu 86	Oulu	\N	90177	Finland
11036	VADBR	1	1998-04-04	1998-05-02	1998-04-23	2	103.52	Valdez & Daughters	44 Harbour Row	Bristol	Avon	BS9 7LT	UK
11037	GALKO	4	1998-04-04	1998-05-02	1998-04-23	3	41.92	Gasthaus Laurent	Rheinufer 11	Köln	\N	50982	Germany
11038	RODKR	1	1998-04-05	1998-05-03	1998-04-06	3	56.03	Rossi & Daughters	ul. Długa 92	Kraków	\N	31-535	Poland
11039	WEDKR	3	1998-04-06	1998-05-04	\N	3	22.03	Weber & Daughters	ul. Długa 25	Kraków	\N	31-229	Poland
11040	MAALY	4	1998-04-07	1998-05-05	1998-04-15	3	124.32	Maison Aldana	11 quai du Rhône	Lyon	\N	69012	France
11041	RODKR	3	1998-04-08	1998-05-06	1998-04-19	1	27.62	Rossi & Daughters	ul. Długa 92	Kraków	\N	31-535	Poland
11042	DRETO	3	1998-04-08	1998-05-06	\N	2	65.04	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
11043	VINET	9	1998-04-09	1998-05-07	1998-04-19	2	47.71	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
11044	MASKO	8	1998-04-10	1998-05-08	1998-04-23	2	10.86	Markthalle Steiner	Rheinufer 13	Köln	\N	50186	Germany
11045	VINET	6	1998-04-11	1998-05-09	1998-04-26	3	38.33	Vins et alcools Chevalier	86 rue des Tonneliers	Reims	\N	51443	France
11046	ALWRO	7	1998-04-12	1998-05-10	1998-04-21	2	72.44	Almacén Walsh	Avenida del Río 79	Rosario	\N	S2015	Argentina
11047	LAPVA	6	1998-04-12	1998-05-10	1998-04-28	1	63.69	Laurent Provisions	73 Cedar Street	Vancouver	BC	V8C 5D1	Canada
11048	MATKO	6	1998-04-13	1998-05-11	1998-05-01	2	15.9	Markthalle Thorne	Rheinufer 93	Köln	\N	50417	Germany
11049	OLPBR	1	1998-04-14	1998-05-12	\N	3	87.95	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
11050	EPBNA	7	1998-04-15	1998-05-13	1998-04-19	2	25.16	Épicerie Berg	84 rue de la Mer	Nantes	\N	44081	France
11051	MAALY	3	1998-04-16	1998-05-14	\N	1	30.07	Maison Aldana	11 quai du Rhône	Lyon	\N	69012	France
11052	BOSME	3	1998-04-17	1998-05-15	1998-04-22	1	11.41	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
11053	VAPCO	5	1998-04-17	1998-05-15	1998-04-19	1	9.29	Valdez Provisions	77 Quay Street	Cork	\N	T12 42	Ireland
11054	BOSME	4	1998-04-18	1998-05-16	1998-04-22	1	24.06	Bodega Sandoval	Avenida Sucre 17	Mérida	\N	5118	Venezuela
11055	DADMA	4	1998-04-19	1998-05-17	\N	3	6.35	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
11056	MODCO	1	1998-04-20	1998-05-18	1998-05-01	2	122.02	Moreau & Daughters	24 Quay Street	Cork	\N	T12 93	Ireland
11057	EMSSA	2	1998-04-21	1998-05-19	1998-04-26	2	25.12	Empório Sandoval	Rua das Flores, 87	São Paulo	SP	01979-043	Brazil
11058	THPOU	4	1998-04-21	1998-05-19	1998-05-01	3	10.79	Thorne Provisions	Satamakatu 56	Oulu	\N	90251	Finland
11059	OLPBR	2	1998-04-22	1998-05-20	\N	2	83.29	Olsen Provisions	23 Harbour Row	Bristol	Avon	BS1 7LT	UK
11060	RICSU	2	1998-04-23	1998-05-21	\N	3	34.37	Richter Supermarkt	Rue du Lac 11	Genève	\N	1215	Switzerland
11061	MAZMU	6	1998-04-24	1998-05-22	1998-05-12	1	143.78	Markthalle Zamora	Salzstraße 15	Münster	\N	48152	Germany
11062	FAPVA	3	1998-04-25	1998-05-23	\N	1	59.53	The Falk Pantry	21 Cedar Street	Vancouver	BC	V6C 9D5	Canada
11063	ALWRO	6	1998-04-25	1998-05-23	1998-05-04	1	22.94	Almacén Walsh	Avenida del Río 79	Rosario	\N	S2015	Argentina
11064	ROPKR	8	1998-04-26	1998-05-24	1998-05-13	2	10.66	Rossi Provisions	ul. Długa 52	Kraków	\N	31-137	Poland
11065	YAPAR	9	1998-04-27	1998-05-25	1998-05-13	3	98.07	Yates Provisions	Havnegade 44	Århus	\N	8074	Denmark
11066	ABVPU	4	1998-04-28	1998-05-26	\N	2	49.33	Abarrotes Valdez	Calle Jacaranda 57	Puebla	\N	72521	Mexico
11067	DRETO	3	1998-04-29	1998-05-27	1998-05-19	3	22.03	Drogheria Eklund	Via dei Colli 79	Torino	\N	10158	Italy
11068	ABAPU	8	1998-04-30	1998-05-28	1998-05-04	2	33.43	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
11069	MADLY	1	1998-04-30	1998-05-28	\N	2	12.68	Maison Duarte	24 quai du Rhône	Lyon	\N	69037	France
11070	GATKO	5	1998-05-01	1998-05-29	\N	1	7.53	Gasthaus Tanaka	Rheinufer 77	Köln	\N	50861	Germany
11071	GRFGE	8	1998-05-02	1998-05-30	1998-05-15	1	42.39	Greco Feinkost	Rue du Lac 61	Genève	\N	1299	Switzerland
11072	BAPBO	4	1998-05-03	1998-05-31	1998-05-09	3	230.31	The Bakke Pantry	882 Canyon Avenue	Boise	ID	83766	USA
11073	ABAPU	6	1998-05-04	1998-06-01	1998-05-13	2	24.3	Abarrotes Aldana	Calle Jacaranda 12	Puebla	\N	72532	Mexico
11074	CAJSE	6	1998-05-04	1998-06-01	1998-05-12	3	93.29	Casa Jansen	Calle Azahar 87	Sevilla	\N	41023	Spain
11076	DADMA	4	1998-05-05	1998-06-02	1998-05-23	2	7.67	Dahl & Daughters	Ängsvägen 77	Malmö	\N	212 17	Sweden
11077	RATTC	8	1998-05-06	1998-06-03	\N	2	49.97	Rattlesnake Canyon Grocery	278 Mesa Road	Albuquerque	NM	87164	USA
\.

COPY order_details (order_id, product_id, unit_price, quantity, discount) FROM stdin;
10248	11	14.0	12	0
10248	42	9.8	10	0
10248	72	34.8	5	0
10249	24	36.37	46	0
10249	26	25.52	24	0.15
10249	30	38.76	31	0
10250	35	29.26	9	0
10250	44	15.42	7	0.1
10251	11	21.0	15	0.15
10251	13	61.38	30	0
10251	20	25.09	27	0.2
10251	40	16.25	39	0
10252	43	27.81	95	0.2
10252	54	17.05	101	0
10253	16	28.96	38	0.05
10253	66	26.5	15	0
10254	1	19.33	22	0.15
10255	35	29.26	14	0
10255	51	48.17	4	0
10255	72	34.8	18	0
10256	37	22.01	16	0.25
10256	50	21.48	21	0
10257	14	14.17	22	0
10257	38	25.9	17	0
10257	40	16.25	24	0
10258	15	24.48	30	0.05
10258	41	14.16	14	0
10258	77	35.19	45	0
10259	38	25.9	41	0.1
10259	51	48.17	11	0
10259	56	21.58	13	0
10259	60	83.76	27	0.05
10260	15	24.48	22	0
10260	70	23.98	13	0.05
10261	19	37.95	68	0
10261	37	22.01	49	0
10261	42	14.0	66	0
10261	72	34.8	30	0
10262	35	29.26	7	0.25
10263	17	9.1	26	0
10263	43	27.81	35	0
10263	48	11.34	20	0
10264	16	28.96	28	0
10264	17	9.1	17	0
10264	39	31.37	29	0.2
10265	2	19.0	24	0
10265	30	38.76	19	0.15
10266	9	24.06	40	0
10266	28	14.77	36	0
10266	46	12.0	28	0
10267	62	31.82	18	0.1
10267	70	23.98	25	0.05
10268	1	19.33	20	0
10268	38	25.9	13	0.05
10268	65	13.28	19	0.25
10268	72	34.8	25	0.1
10269	53	26.52	39	0
10269	64	15.16	21	0.2
10270	7	77.41	13	0
10270	17	9.1	5	0
10271	10	10.68	34	0
10271	57	22.62	18	0
10272	10	10.68	32	0
10272	20	25.09	24	0
10272	23	37.14	29	0.1
10272	58	23.26	10	0.25
10273	18	74.44	3	0
10273	53	26.52	22	0
10274	4	8.7	42	0.15
10275	4	8.7	41	0
10275	6	9.24	16	0.15
10275	37	22.01	7	0.2
10275	56	21.58	12	0.05
10276	5	6.19	16	0
10276	55	46.38	10	0
10277	48	11.34	27	0
10277	66	26.5	17	0
10278	45	14.5	27	0.1
10278	54	17.05	17	0
10278	77	35.19	17	0
10279	19	37.95	12	0
10279	21	43.69	15	0
10279	34	43.37	12	0
10279	60	83.76	17	0
10280	15	24.48	15	0.1
10280	23	37.14	32	0
10280	49	25.98	47	0
10280	66	26.5	20	0
10281	4	8.7	9	0
10281	14	14.17	33	0
10281	52	56.4	12	0.2
10282	19	37.95	30	0.15
10282	33	27.33	25	0
10283	22	3.08	29	0.05
10283	29	31.56	22	0.25
10283	50	21.48	28	0
10283	72	34.8	13	0.05
10284	27	9.02	17	0.05
10284	42	14.0	27	0
10284	50	21.48	30	0
10284	69	20.36	43	0.15
10285	31	12.66	26	0.1
10285	33	27.33	25	0.25
10285	72	34.8	20	0
10286	21	43.69	9	0
10286	24	36.37	10	0
10286	63	13.31	8	0
10287	46	12.0	102	0.05
10287	50	21.48	26	0.2
10287	77	35.19	43	0
10288	15	24.48	39	0
10288	60	83.76	38	0.25
10288	76	18.0	2	0
10289	43	27.81	40	0
10289	66	26.5	32	0.1
10290	44	15.42	29	0.2
10290	77	35.19	12	0.2
10291	13	61.38	28	0.1
10291	17	9.1	35	0
10291	42	14.0	32	0
10292	16	28.96	15	0
10292	39	31.37	12	0
10293	43	27.81	34	0.1
10293	66	26.5	37	0
10294	31	12.66	19	0.2
10294	52	56.4	24	0.1
10295	27	9.02	35	0
10295	75	46.34	12	0.2
10296	12	8.3	67	0
10296	76	18.0	36	0
10297	2	19.0	43	0
10297	28	14.77	10	0
10297	30	38.76	21	0
10297	53	26.52	19	0
10298	66	26.5	17	0.2
10299	18	74.44	8	0
10299	56	21.58	44	0
10299	69	20.36	24	0.25
10300	45	14.5	16	0.25
10300	76	18.0	14	0
10301	18	74.44	18	0.25
10301	47	7.87	13	0.1
10302	7	77.41	83	0.05
10302	16	28.96	67	0.2
10303	1	19.33	12	0
10303	24	36.37	44	0.25
10303	69	20.36	27	0
10304	7	77.41	58	0
10304	14	14.17	50	0
10304	45	14.5	29	0
10305	6	9.24	9	0
10305	17	9.1	13	0
10305	60	83.76	16	0
10306	15	24.48	7	0.2
10306	25	38.61	33	0.05
10307	47	7.87	33	0
10308	8	56.03	16	0
10308	63	13.31	22	0.1
10309	44	15.42	11	0.2
10309	67	6.43	17	0
10310	39	31.37	26	0.1
10310	42	14.0	21	0
10310	43	27.81	22	0.1
10310	52	56.4	16	0.25
10311	51	48.17	25	0
10311	63	13.31	23	0.15
10312	3	14.67	31	0
10312	12	8.3	7	0
10313	21	43.69	40	0
10313	42	14.0	27	0
10313	68	4.43	8	0
10314	18	74.44	27	0.15
10314	23	37.14	28	0.05
10315	17	9.1	19	0
10315	51	48.17	28	0
10315	70	23.98	17	0.05
10316	16	28.96	22	0
10316	43	27.81	27	0.1
10316	44	15.42	15	0
10317	3	14.67	34	0
10317	7	77.41	19	0
10318	61	19.47	14	0.05
10319	30	38.76	16	0
10320	3	14.67	35	0.2
10320	10	10.68	25	0.05
10320	30	38.76	12	0
10320	66	26.5	15	0
10321	11	21.0	14	0
10321	12	8.3	45	0
10321	22	3.08	26	0.05
10321	45	14.5	21	0
10321	69	20.36	19	0.15
10322	52	56.4	27	0
10322	70	23.98	17	0.05
10322	72	34.8	11	0
10323	21	43.69	12	0.2
10323	42	14.0	18	0.15
10323	65	13.28	16	0.2
10323	71	22.79	28	0
10324	74	14.59	27	0
10325	4	8.7	54	0.2
10325	11	21.0	31	0
10325	35	29.26	33	0
10325	65	13.28	62	0
10326	12	8.3	37	0.25
10326	13	61.38	12	0
10326	23	37.14	19	0.1
10326	24	36.37	12	0
10326	26	25.52	23	0
10327	23	37.14	23	0
10327	73	18.53	38	0.05
10327	77	35.19	12	0
10328	1	19.33	37	0
10328	29	31.56	6	0
10329	56	21.58	16	0
10329	59	24.61	9	0.25
10329	71	22.79	26	0
10330	32	28.19	45	0
10330	34	43.37	8	0
10330	63	13.31	19	0
10331	14	14.17	25	0
10331	19	37.95	89	0.2
10331	27	9.02	84	0
10332	20	25.09	12	0.1
10332	40	16.25	52	0.25
10332	51	48.17	45	0
10333	34	43.37	101	0
10333	49	25.98	43	0
10333	53	26.52	41	0
10334	14	14.17	84	0
10334	39	31.37	46	0
10334	47	7.87	35	0
10334	49	25.98	41	0
10335	45	14.5	13	0
10335	76	18.0	33	0
10336	20	25.09	66	0.2
10336	51	48.17	64	0.2
10337	11	21.0	19	0
10337	28	14.77	18	0.1
10337	67	6.43	16	0.05
10338	26	25.52	22	0.05
10338	45	14.5	7	0
10338	59	24.61	20	0
10339	26	25.52	29	0.1
10339	52	56.4	15	0
10339	58	23.26	16	0
10340	43	27.81	17	0
10341	13	61.38	7	0.2
10341	22	3.08	37	0
10341	47	7.87	40	0
10341	73	18.53	25	0
10342	35	29.26	28	0
10342	45	14.5	22	0
10342	59	24.61	22	0.1
10343	1	19.33	20	0
10343	3	14.67	21	0
10343	6	9.24	41	0.2
10343	23	37.14	19	0
10343	72	34.8	26	0.05
10344	29	31.56	32	0.25
10344	39	31.37	28	0
10344	63	13.31	41	0
10344	75	46.34	16	0.15
10345	36	10.63	19	0.1
10346	38	25.9	17	0
10346	40	16.25	15	0
10346	53	26.52	27	0.1
10346	60	83.76	36	0
10347	17	9.1	15	0
10347	45	14.5	11	0.15
10347	57	22.62	35	0.15
10348	37	22.01	67	0
10348	40	16.25	68	0.15
10349	1	19.33	22	0.1
10349	9	24.06	40	0
10350	2	19.0	24	0
10350	63	13.31	33	0
10350	74	14.59	36	0
10351	7	77.41	14	0
10351	49	25.98	12	0.15
10351	50	21.48	22	0
10351	77	35.19	9	0
10352	50	21.48	12	0
10353	2	19.0	12	0
10353	21	43.69	24	0.1
10354	4	8.7	24	0
10354	66	26.5	27	0.1
10355	31	12.66	47	0.05
10355	33	27.33	4	0
10355	76	18.0	34	0
10356	8	56.03	11	0
10356	52	56.4	35	0
10356	53	26.52	27	0
10357	1	19.33	43	0.15
10357	22	3.08	13	0
10357	71	22.79	40	0.05
10357	73	18.53	19	0.15
10358	53	26.52	16	0
10359	4	8.7	35	0
10359	9	24.06	18	0.2
10359	47	7.87	5	0
10359	48	11.34	18	0.2
10359	59	24.61	11	0.2
10359	70	23.98	19	0.05
10360	24	36.37	38	0
10360	35	29.26	24	0
10361	28	14.77	16	0.1
10361	36	10.63	31	0
10362	26	25.52	10	0
10362	32	28.19	25	0.2
10362	74	14.59	40	0
10363	2	19.0	34	0
10363	74	14.59	33	0
10364	18	74.44	39	0.2
10364	19	37.95	5	0.1
10364	21	43.69	14	0
10364	52	56.4	16	0.1
10364	75	46.34	30	0
10365	11	21.0	21	0.15
10365	76	18.0	24	0
10366	19	37.95	11	0.2
10366	69	20.36	18	0
10366	76	18.0	20	0.1
10367	57	22.62	19	0
10367	66	26.5	13	0
10368	13	61.38	21	0
10368	48	11.34	27	0.1
10368	50	21.48	17	0
10369	39	31.37	16	0
10370	8	56.03	40	0
10370	29	31.56	16	0
10370	55	46.38	15	0
10371	17	9.1	29	0.15
10371	28	14.77	16	0.1
10371	58	23.26	22	0
10371	76	18.0	25	0.1
10372	34	43.37	27	0
10373	21	43.69	10	0
10373	51	48.17	13	0
10373	52	56.4	32	0.1
10374	6	9.24	22	0
10374	27	9.02	22	0
10375	32	28.19	37	0
10375	75	46.34	41	0
10376	18	74.44	34	0.2
10376	55	46.38	16	0.15
10377	24	36.37	26	0
10377	30	38.76	71	0
10377	37	22.01	49	0
10378	63	13.31	13	0
10378	76	18.0	11	0
10379	21	43.69	25	0
10379	54	17.05	15	0
10380	28	14.77	15	0
10380	32	28.19	14	0
10380	52	56.4	26	0
10380	70	23.98	29	0
10381	8	56.03	8	0
10381	14	14.17	17	0
10381	73	18.53	17	0.1
10382	8	56.03	35	0.2
10382	61	19.47	7	0.2
10383	6	9.24	18	0
10383	22	3.08	25	0
10383	75	46.34	14	0
10383	76	18.0	32	0.05
10384	17	9.1	28	0.05
10384	29	31.56	11	0
10384	56	21.58	15	0
10385	1	19.33	16	0.1
10385	9	24.06	22	0.2
10385	50	21.48	27	0.1
10386	29	31.56	28	0.25
10386	40	16.25	11	0
10386	58	23.26	37	0
10387	5	6.19	9	0
10387	52	56.4	3	0
10387	58	23.26	10	0
10388	67	6.43	102	0
10388	70	23.98	46	0
10389	13	61.38	23	0.25
10389	26	25.52	24	0.05
10389	28	14.77	25	0.1
10389	33	27.33	30	0.15
10390	32	28.19	36	0.2
10390	41	14.16	34	0
10390	63	13.31	18	0
10390	75	46.34	12	0
10391	11	21.0	32	0
10391	74	14.59	28	0
10392	48	11.34	5	0
10392	65	13.28	15	0.2
10393	18	74.44	23	0
10393	23	37.14	31	0
10393	24	36.37	41	0
10393	63	13.31	32	0
10394	10	10.68	17	0
10394	47	7.87	21	0
10395	5	6.19	22	0
10396	6	9.24	19	0
10396	25	38.61	22	0
10396	54	17.05	6	0
10396	75	46.34	14	0
10397	61	19.47	17	0
10397	76	18.0	10	0.1
10398	25	38.61	16	0.2
10398	31	12.66	42	0
10399	9	24.06	26	0.2
10399	17	9.1	25	0
10399	38	25.9	10	0
10400	4	8.7	14	0.15
10400	37	22.01	28	0
10400	54	17.05	25	0
10401	21	43.69	97	0
10402	73	18.53	42	0.2
10402	77	35.19	24	0.05
10403	32	28.19	7	0
10403	56	21.58	19	0
10403	69	20.36	35	0.25
10403	75	46.34	16	0.25
10404	1	19.33	9	0
10404	42	14.0	20	0.1
10404	57	22.62	8	0
10405	65	13.28	12	0
10405	77	35.19	15	0.15
10406	19	37.95	38	0.25
10406	58	23.26	15	0
10406	63	13.31	28	0
10407	12	8.3	10	0
10407	44	15.42	19	0.25
10407	60	83.76	31	0.1
10407	74	14.59	24	0.1
10408	18	74.44	32	0.15
10408	47	7.87	23	0
10409	73	18.53	32	0
10410	8	56.03	25	0
10410	9	24.06	32	0.25
10410	61	19.47	21	0
10410	74	14.59	23	0
10411	28	14.77	20	0
10412	21	43.69	29	0
10412	60	83.76	8	0
10412	68	4.43	25	0
10413	37	22.01	25	0
10413	51	48.17	36	0.05
10414	7	77.41	38	0.05
10414	28	14.77	17	0
10414	76	18.0	12	0.15
10415	13	61.38	15	0
10415	25	38.61	15	0.15
10415	39	31.37	17	0
10416	52	56.4	21	0.05
10416	53	26.52	27	0
10416	63	13.31	25	0
10417	23	37.14	40	0
10417	29	31.56	12	0.05
10417	32	28.19	11	0.05
10417	37	22.01	29	0
10417	62	31.82	33	0
10418	32	28.19	9	0
10419	3	14.67	18	0
10419	35	29.26	7	0.15
10420	13	61.38	42	0.1
10420	23	37.14	16	0
10420	34	43.37	33	0
10420	52	56.4	21	0.05
10421	5	6.19	16	0
10421	44	15.42	32	0
10421	67	6.43	31	0
10422	40	16.25	31	0
10422	48	11.34	18	0.2
10422	58	23.26	18	0
10423	9	24.06	29	0
10423	15	24.48	19	0
10423	57	22.62	32	0.05
10424	36	10.63	22	0.15
10424	47	7.87	16	0.25
10424	48	11.34	49	0
10424	59	24.61	26	0
10425	15	24.48	41	0
10425	32	28.19	8	0
10426	21	43.69	19	0
10426	36	10.63	21	0
10426	44	15.42	25	0
10426	69	20.36	18	0
10427	24	36.37	16	0
10427	31	12.66	25	0.2
10427	40	16.25	6	0
10427	47	7.87	25	0.1
10427	53	26.52	31	0
10428	52	56.4	49	0.2
10428	53	26.52	5	0
10428	59	24.61	34	0.25
10429	56	21.58	18	0.1
10430	10	10.68	24	0.15
10430	12	8.3	28	0
10430	22	3.08	16	0.25
10430	55	46.38	26	0
10430	62	31.82	32	0
10431	6	9.24	37	0
10431	66	26.5	12	0.05
10431	76	18.0	38	0.1
10432	16	28.96	25	0
10432	34	43.37	42	0.05
10433	7	77.41	27	0
10433	72	34.8	27	0
10434	25	38.61	27	0
10434	29	31.56	25	0.2
10435	50	21.48	17	0.25
10435	73	18.53	45	0.2
10436	51	48.17	40	0
10436	64	15.16	44	0.05
10437	13	61.38	35	0.05
10437	19	37.95	21	0
10438	25	38.61	32	0
10438	65	13.28	13	0.25
10439	2	19.0	32	0
10439	41	14.16	23	0.15
10439	50	21.48	16	0
10440	40	16.25	24	0
10440	64	15.16	36	0.2
10440	66	26.5	17	0
10440	75	46.34	18	0
10441	27	9.02	13	0
10441	52	56.4	10	0.05
10441	58	23.26	36	0.05
10442	37	22.01	14	0.25
10442	66	26.5	38	0.2
10442	72	34.8	34	0.25
10442	77	35.19	18	0
10443	16	28.96	52	0.1
10444	2	19.0	15	0
10445	3	14.67	44	0
10445	5	6.19	29	0
10445	26	25.52	8	0
10446	38	25.9	31	0.05
10446	43	27.81	24	0
10447	18	74.44	9	0
10447	71	22.79	36	0.05
10448	35	29.26	59	0.2
10448	39	31.37	91	0.25
10448	58	23.26	19	0
10449	34	43.37	16	0.1
10450	34	43.37	21	0
10450	59	24.61	3	0
10451	16	28.96	18	0.05
10451	31	12.66	9	0.1
10451	60	83.76	12	0
10452	75	46.34	15	0
10452	76	18.0	30	0
10453	38	25.9	12	0.2
10453	54	17.05	23	0
10453	59	24.61	29	0
10454	61	19.47	72	0
10454	68	4.43	38	0.05
10455	27	9.02	27	0
10456	13	61.38	30	0
10456	55	46.38	15	0.25
10456	76	18.0	21	0
10457	11	21.0	22	0.2
10458	7	77.41	21	0
10458	26	25.52	12	0
10458	49	25.98	14	0
10459	8	56.03	6	0.1
10459	24	36.37	35	0
10459	61	19.47	16	0
10459	72	34.8	20	0.15
10460	13	61.38	24	0.1
10460	19	37.95	44	0.1
10460	29	31.56	34	0.1
10460	33	27.33	27	0
10461	47	7.87	9	0.1
10461	53	26.52	18	0
10462	34	43.37	10	0
10462	74	14.59	36	0
10463	19	37.95	31	0
10464	35	29.26	36	0
10464	37	22.01	19	0.2
10465	5	6.19	20	0
10465	60	83.76	10	0
10466	11	21.0	20	0.1
10466	41	14.16	18	0.15
10467	33	27.33	34	0
10467	40	16.25	10	0
10467	55	46.38	16	0
10467	60	83.76	26	0
10467	73	18.53	11	0
10468	4	8.7	23	0
10468	52	56.4	20	0
10468	59	24.61	38	0.15
10469	66	26.5	32	0
10469	67	6.43	34	0
10469	77	35.19	29	0
10470	27	9.02	20	0.1
10470	54	17.05	17	0.15
10471	65	13.28	45	0.1
10472	10	10.68	15	0
10472	42	14.0	16	0
10473	59	24.61	10	0
10474	28	14.77	9	0.2
10474	37	22.01	19	0.2
10474	67	6.43	19	0
10475	11	21.0	22	0
10475	33	27.33	25	0
10475	59	24.61	12	0.05
10475	60	83.76	28	0
10476	8	56.03	31	0.2
10476	10	10.68	22	0
10476	36	10.63	43	0.25
10477	21	43.69	7	0.25
10478	34	43.37	30	0
10478	41	14.16	7	0.05
10479	2	19.0	14	0.05
10479	6	9.24	29	0
10479	8	56.03	34	0
10479	17	9.1	15	0
10479	33	27.33	15	0
10479	35	29.26	21	0.2
10480	4	8.7	8	0.1
10480	44	15.42	23	0
10480	51	48.17	30	0
10481	19	37.95	23	0
10481	24	36.37	46	0.1
10481	50	21.48	23	0.05
10482	41	14.16	36	0
10482	43	27.81	12	0.15
10482	54	17.05	35	0
10483	16	28.96	48	0.2
10484	5	6.19	20	0.2
10485	27	9.02	9	0
10485	50	21.48	37	0
10486	3	14.67	15	0
10486	14	14.17	35	0
10486	18	74.44	29	0.25
10487	13	61.38	23	0.15
10487	14	14.17	12	0
10487	35	29.26	21	0
10487	49	25.98	24	0.15
10488	1	19.33	34	0.2
10488	23	37.14	14	0.05
10488	50	21.48	25	0
10489	30	38.76	14	0
10489	53	26.52	24	0
10489	69	20.36	24	0.1
10490	36	10.63	29	0.25
10490	42	14.0	10	0
10491	11	21.0	27	0.1
10491	61	19.47	37	0
10491	70	23.98	11	0
10492	41	14.16	21	0
10492	73	18.53	38	0
10493	32	28.19	39	0
10494	12	8.3	15	0
10494	38	25.9	18	0
10495	33	27.33	12	0
10495	45	14.5	27	0
10495	70	23.98	25	0
10496	4	8.7	37	0
10496	8	56.03	31	0
10496	16	28.96	19	0
10496	47	7.87	33	0
10497	2	19.0	16	0.05
10497	3	14.67	22	0
10497	64	15.16	19	0
10497	65	13.28	15	0
10498	1	19.33	20	0
10498	19	37.95	30	0
10498	27	9.02	14	0
10499	6	9.24	10	0
10499	12	8.3	29	0.05
10499	77	35.19	16	0
10500	24	36.37	5	0
10500	38	25.9	11	0.25
10500	43	27.81	31	0.25
10501	3	14.67	13	0.25
10501	41	14.16	14	0
10502	58	23.26	16	0.15
10502	65	13.28	31	0
10503	22	3.08	80	0
10503	62	31.82	62	0.15
10503	72	34.8	35	0
10504	21	43.69	5	0
10505	6	9.24	29	0
10505	60	83.76	40	0.25
10505	62	31.82	10	0
10505	76	18.0	28	0
10505	77	35.19	45	0.2
10506	74	14.59	15	0
10507	72	34.8	20	0
10508	8	56.03	12	0
10508	21	43.69	26	0
10509	12	8.3	14	0.05
10509	21	43.69	24	0
10509	46	12.0	17	0
10510	19	37.95	4	0
10510	66	26.5	28	0.15
10511	16	28.96	23	0
10511	60	83.76	38	0
10512	22	3.08	4	0
10512	37	22.01	16	0
10513	1	19.33	13	0
10513	5	6.19	26	0.1
10513	7	77.41	20	0
10513	24	36.37	19	0
10514	18	74.44	6	0.05
10514	29	31.56	25	0
10514	39	31.37	21	0
10515	46	12.0	44	0
10515	71	22.79	12	0.05
10516	43	27.81	12	0
10516	73	18.53	21	0
10517	37	22.01	14	0
10517	68	4.43	28	0
10518	48	11.34	25	0.25
10519	12	8.3	59	0
10520	5	6.19	44	0.05
10520	7	77.41	14	0
10520	11	21.0	9	0.25
10520	43	27.81	30	0.1
10521	2	19.0	3	0
10521	73	18.53	25	0
10522	22	3.08	43	0.2
10522	42	14.0	29	0
10523	63	13.31	22	0.05
10524	25	38.61	11	0
10525	23	37.14	13	0.2
10525	74	14.59	19	0.2
10525	75	46.34	26	0.15
10526	7	77.41	25	0
10526	30	38.76	17	0
10526	53	26.52	27	0.2
10526	56	21.58	27	0.05
10527	1	19.33	30	0.2
10527	31	12.66	17	0.1
10527	53	26.52	18	0
10528	5	6.19	10	0
10528	6	9.24	17	0
10528	64	15.16	31	0.15
10529	15	24.48	50	0
10529	32	28.19	55	0.1
10529	45	14.5	48	0
10529	58	23.26	75	0
10530	18	74.44	16	0
10530	29	31.56	5	0
10530	42	14.0	43	0.25
10530	62	31.82	41	0.25
10530	65	13.28	24	0.15
10531	6	9.24	29	0
10531	51	48.17	14	0
10531	71	22.79	19	0
10532	7	77.41	7	0
10532	53	26.52	37	0
10532	58	23.26	7	0
10533	24	36.37	12	0.1
10533	75	46.34	15	0
10534	66	26.5	16	0.2
10535	8	56.03	34	0
10536	10	10.68	49	0
10536	26	25.52	14	0
10536	71	22.79	12	0
10537	4	8.7	21	0
10537	15	24.48	42	0.15
10537	67	6.43	19	0.15
10538	30	38.76	16	0
10538	64	15.16	13	0
10538	76	18.0	36	0
10539	36	10.63	9	0
10539	40	16.25	7	0.05
10539	55	46.38	31	0.1
10540	72	34.8	33	0.15
10541	8	56.03	30	0
10541	14	14.17	32	0.25
10541	34	43.37	45	0.1
10541	67	6.43	17	0.1
10541	73	18.53	16	0.05
10542	25	38.61	33	0
10542	27	9.02	23	0
10542	48	11.34	40	0
10543	14	14.17	15	0
10543	33	27.33	15	0
10544	4	8.7	30	0
10544	33	27.33	10	0.05
10545	1	19.33	18	0
10545	2	19.0	32	0.25
10545	50	21.48	11	0
10546	57	22.62	34	0
10546	67	6.43	8	0
10547	10	10.68	31	0
10547	35	29.26	43	0
10547	67	6.43	13	0
10548	59	24.61	12	0.2
10548	65	13.28	26	0
10549	20	25.09	8	0
10549	28	14.77	44	0
10549	36	10.63	19	0
10550	50	21.48	26	0.05
10550	60	83.76	13	0.25
10550	61	19.47	17	0.2
10551	1	19.33	8	0
10552	1	19.33	19	0
10552	47	7.87	16	0
10552	57	22.62	35	0
10552	62	31.82	10	0.15
10553	15	24.48	21	0
10553	76	18.0	37	0.1
10554	9	24.06	27	0
10554	36	10.63	20	0
10554	43	27.81	35	0
10555	6	9.24	11	0.15
10555	67	6.43	32	0
10556	25	38.61	53	0.05
10556	75	46.34	44	0
10557	1	19.33	14	0
10557	2	19.0	16	0.15
10558	67	6.43	24	0
10559	17	9.1	8	0.2
10559	40	16.25	13	0
10560	9	24.06	12	0
10560	17	9.1	11	0
10560	62	31.82	12	0.15
10561	11	21.0	44	0
10561	34	43.37	21	0.15
10561	43	27.81	25	0.1
10562	10	10.68	18	0.25
10562	58	23.26	29	0
10562	66	26.5	34	0.2
10563	2	19.0	18	0
10563	47	7.87	9	0
10563	72	34.8	34	0.1
10564	27	9.02	43	0
10565	12	8.3	23	0
10565	69	20.36	25	0
10566	24	36.37	32	0
10566	39	31.37	29	0.1
10567	34	43.37	46	0
10567	47	7.87	30	0
10567	72	34.8	29	0
10568	42	14.0	29	0.2
10568	43	27.81	15	0.05
10568	70	23.98	34	0.1
10568	73	18.53	30	0
10569	33	27.33	26	0.15
10569	34	43.37	18	0.1
10570	20	25.09	9	0
10570	21	43.69	12	0.2
10570	68	4.43	8	0
10571	1	19.33	30	0
10571	66	26.5	37	0.15
10572	18	74.44	27	0.15
10572	46	12.0	26	0.05
10572	50	21.48	12	0.05
10572	71	22.79	30	0.1
10573	20	25.09	11	0.2
10573	46	12.0	28	0
10574	26	25.52	25	0
10574	35	29.26	10	0.2
10575	20	25.09	32	0
10575	64	15.16	37	0
10576	5	6.19	5	0.25
10576	32	28.19	36	0
10576	33	27.33	14	0
10576	39	31.37	35	0.15
10577	3	14.67	32	0
10577	14	14.17	22	0
10577	48	11.34	20	0
10577	53	26.52	22	0.2
10577	55	46.38	31	0
10578	17	9.1	23	0
10578	22	3.08	26	0.2
10579	54	17.05	29	0
10579	76	18.0	39	0.1
10580	65	13.28	8	0
10581	9	24.06	21	0.2
10581	43	27.81	49	0
10582	4	8.7	32	0.1
10582	74	14.59	18	0
10582	77	35.19	32	0
10583	34	43.37	23	0
10583	38	25.9	38	0
10584	24	36.37	47	0
10584	65	13.28	26	0
10585	23	37.14	18	0
10585	41	14.16	32	0.1
10585	57	22.62	17	0
10585	77	35.19	29	0
10586	23	37.14	20	0
10586	33	27.33	72	0.15
10587	24	36.37	73	0.2
10587	26	25.52	49	0
10587	33	27.33	74	0.2
10587	60	83.76	25	0
10588	17	9.1	18	0
10588	41	14.16	23	0
10588	53	26.52	27	0
10589	23	37.14	14	0.05
10589	36	10.63	19	0
10589	58	23.26	18	0
10589	69	20.36	29	0
10590	59	24.61	63	0.25
10591	5	6.19	24	0.05
10591	15	24.48	28	0.2
10591	37	22.01	24	0
10591	52	56.4	40	0
10591	72	34.8	27	0
10592	12	8.3	14	0
10592	19	37.95	27	0
10592	39	31.37	26	0.15
10592	54	17.05	32	0
10593	9	24.06	22	0
10593	32	28.19	3	0
10594	18	74.44	12	0
10594	22	3.08	36	0
10594	61	19.47	13	0
10595	4	8.7	27	0.2
10595	63	13.31	18	0
10596	5	6.19	20	0
10596	45	14.5	35	0
10597	25	38.61	8	0.2
10598	13	61.38	29	0.2
10598	62	31.82	49	0.25
10598	74	14.59	38	0
10599	16	28.96	11	0
10599	24	36.37	24	0.05
10599	25	38.61	24	0.05
10599	75	46.34	12	0
10600	2	19.0	21	0
10600	46	12.0	32	0
10601	36	10.63	11	0.25
10602	36	10.63	18	0
10603	5	6.19	11	0.15
10603	41	14.16	26	0.25
10603	56	21.58	14	0
10604	44	15.42	53	0
10604	46	12.0	29	0.2
10605	47	7.87	25	0
10605	72	34.8	21	0
10606	17	9.1	30	0
10606	21	43.69	20	0.05
10606	25	38.61	22	0.25
10606	51	48.17	11	0.05
10607	54	17.05	12	0
10608	59	24.61	42	0.1
10609	28	14.77	32	0
10609	37	22.01	9	0
10609	69	20.36	23	0
10609	75	46.34	42	0.25
10610	29	31.56	27	0.1
10611	7	77.41	48	0.05
10611	69	20.36	27	0
10612	9	24.06	24	0
10613	1	19.33	34	0
10613	25	38.61	15	0
10613	71	22.79	23	0.15
10614	6	9.24	38	0.15
10614	17	9.1	17	0
10615	46	12.0	31	0
10615	54	17.05	38	0
10616	11	21.0	81	0
10616	33	27.33	71	0
10617	5	6.19	29	0.2
10617	27	9.02	13	0
10617	56	21.58	40	0.2
10618	5	6.19	63	0.1
10618	49	25.98	61	0.05
10618	63	13.31	43	0.05
10619	27	9.02	33	0
10619	28	14.77	27	0.1
10619	77	35.19	5	0.15
10620	38	25.9	44	0
10621	16	28.96	20	0
10621	24	36.37	8	0
10621	64	15.16	9	0
10622	21	43.69	5	0
10622	57	22.62	19	0.2
10623	12	8.3	8	0
10623	35	29.26	21	0
10623	39	31.37	38	0
10623	54	17.05	6	0
10624	1	19.33	23	0
10624	18	74.44	46	0
10625	31	12.66	24	0
10625	54	17.05	7	0
10626	50	21.48	38	0.05
10627	45	14.5	12	0.1
10628	29	31.56	25	0.2
10629	1	19.33	26	0
10629	28	14.77	39	0
10629	62	31.82	17	0.1
10630	17	9.1	29	0
10630	64	15.16	44	0
10631	19	37.95	16	0.05
10632	30	38.76	11	0.25
10632	42	14.0	13	0.05
10632	54	17.05	21	0
10632	60	83.76	31	0.25
10632	74	14.59	27	0
10633	54	17.05	41	0
10633	62	31.82	19	0.05
10634	42	14.0	8	0.2
10634	68	4.43	8	0.2
10635	6	9.24	70	0.05
10635	31	12.66	48	0.2
10635	49	25.98	24	0
10636	54	17.05	31	0
10637	4	8.7	13	0.2
10637	12	8.3	8	0.15
10637	41	14.16	41	0.05
10638	16	28.96	18	0
10638	28	14.77	23	0.25
10638	50	21.48	20	0.15
10639	2	19.0	25	0.05
10639	26	25.52	13	0.25
10640	26	25.52	4	0.1
10640	46	12.0	25	0
10641	49	25.98	33	0
10642	24	36.37	30	0
10642	31	12.66	30	0
10642	34	43.37	8	0.05
10642	61	19.47	17	0.25
10642	75	46.34	10	0
10643	53	26.52	18	0
10643	54	17.05	30	0.2
10644	13	61.38	13	0
10644	32	28.19	13	0.05
10645	37	22.01	11	0
10645	45	14.5	16	0.1
10646	24	36.37	15	0.05
10646	48	11.34	23	0.25
10646	62	31.82	25	0
10646	63	13.31	43	0
10647	11	21.0	36	0.25
10647	36	10.63	49	0
10648	55	46.38	37	0
10648	67	6.43	21	0.15
10649	12	8.3	20	0.05
10649	25	38.61	32	0.2
10650	11	21.0	29	0.05
10650	19	37.95	34	0
10651	6	9.24	14	0.25
10651	37	22.01	25	0.25
10652	5	6.19	9	0
10652	34	43.37	22	0.25
10652	43	27.81	17	0
10653	33	27.33	23	0
10653	43	27.81	14	0
10654	47	7.87	36	0.05
10655	61	19.47	15	0
10655	64	15.16	33	0.1
10656	16	28.96	25	0.25
10656	18	74.44	25	0
10656	65	13.28	20	0.25
10657	12	8.3	16	0.15
10657	54	17.05	32	0.1
10658	43	27.81	41	0
10658	55	46.38	43	0.05
10659	5	6.19	15	0.25
10659	44	15.42	20	0
10659	48	11.34	19	0
10659	72	34.8	29	0.2
10660	33	27.33	17	0
10661	23	37.14	13	0
10662	57	22.62	20	0
10662	64	15.16	39	0
10663	9	24.06	24	0
10663	30	38.76	85	0.25
10664	12	8.3	5	0
10664	45	14.5	28	0
10665	9	24.06	4	0
10665	31	12.66	20	0
10665	67	6.43	6	0
10665	77	35.19	7	0
10666	4	8.7	32	0.2
10666	5	6.19	11	0
10666	24	36.37	29	0.05
10666	65	13.28	22	0
10667	24	36.37	12	0.15
10668	1	19.33	20	0
10668	2	19.0	43	0.05
10669	22	3.08	38	0.05
10669	66	26.5	30	0
10669	75	46.34	33	0.15
10670	1	19.33	15	0.05
10670	38	25.9	31	0.2
10671	2	19.0	15	0.05
10671	6	9.24	14	0.1
10671	52	56.4	5	0
10672	16	28.96	18	0.2
10672	57	22.62	20	0.1
10673	22	3.08	24	0
10673	27	9.02	25	0.25
10673	72	34.8	10	0.2
10674	31	12.66	14	0
10674	66	26.5	29	0.15
10675	11	21.0	39	0.1
10675	24	36.37	70	0.1
10675	33	27.33	63	0
10676	46	12.0	42	0
10677	5	6.19	16	0
10677	40	16.25	17	0
10677	63	13.31	21	0
10677	75	46.34	22	0
10678	2	19.0	14	0
10678	50	21.48	24	0.05
10678	63	13.31	13	0
10679	25	38.61	6	0
10680	41	14.16	5	0
10680	69	20.36	17	0.1
10681	11	21.0	11	0
10681	55	46.38	5	0
10681	56	21.58	13	0
10682	3	14.67	13	0
10683	39	31.37	22	0.15
10683	50	21.48	34	0
10684	7	77.41	79	0.05
10685	1	19.33	52	0
10685	35	29.26	81	0.25
10685	41	14.16	34	0.15
10686	6	9.24	37	0.05
10686	11	21.0	21	0.15
10687	3	14.67	42	0.05
10687	26	25.52	32	0
10687	39	31.37	47	0
10687	42	14.0	40	0
10688	13	61.38	6	0
10688	18	74.44	28	0
10688	19	37.95	24	0
10688	75	46.34	17	0
10689	12	8.3	34	0
10689	65	13.28	20	0
10690	19	37.95	29	0
10690	54	17.05	35	0.25
10690	59	24.61	11	0
10690	60	83.76	26	0.05
10690	72	34.8	15	0.05
10691	12	8.3	18	0
10691	18	74.44	25	0
10691	27	9.02	18	0
10692	16	28.96	19	0.25
10692	37	22.01	17	0
10692	42	14.0	20	0.1
10692	62	31.82	13	0
10693	57	22.62	14	0
10694	9	24.06	36	0
10694	52	56.4	29	0.25
10695	52	56.4	28	0
10695	53	26.52	15	0.05
10695	64	15.16	26	0
10695	68	4.43	19	0
10696	1	19.33	31	0.05
10696	3	14.67	28	0
10696	73	18.53	30	0
10697	27	9.02	10	0.1
10697	33	27.33	27	0
10697	39	31.37	20	0
10697	64	15.16	18	0.1
10698	40	16.25	42	0
10699	37	22.01	19	0
10699	73	18.53	27	0.2
10700	16	28.96	34	0
10700	36	10.63	42	0.15
10700	58	23.26	18	0.2
10701	33	27.33	14	0
10701	59	24.61	28	0
10702	11	21.0	18	0.15
10702	76	18.0	33	0
10703	12	8.3	19	0
10703	68	4.43	14	0
10703	73	18.53	42	0
10704	37	22.01	85	0.1
10704	41	14.16	77	0.2
10705	2	19.0	27	0.25
10705	19	37.95	26	0
10705	22	3.08	29	0.2
10706	53	26.52	71	0.25
10707	19	37.95	10	0
10707	65	13.28	22	0.15
10708	27	9.02	31	0
10708	32	28.19	25	0.2
10708	43	27.81	39	0.2
10708	49	25.98	31	0.25
10708	52	56.4	23	0
10709	33	27.33	24	0
10709	59	24.61	6	0
10709	61	19.47	36	0.05
10710	2	19.0	12	0
10710	5	6.19	15	0
10710	71	22.79	14	0
10711	7	77.41	25	0
10711	13	61.38	47	0
10711	48	11.34	36	0
10712	24	36.37	13	0.2
10713	18	74.44	15	0.1
10713	21	43.69	25	0
10713	53	26.52	34	0
10714	4	8.7	10	0
10714	6	9.24	19	0
10714	13	61.38	7	0.2
10714	19	37.95	42	0.25
10714	40	16.25	22	0
10715	11	21.0	41	0.05
10716	66	26.5	7	0.1
10717	7	77.41	24	0.2
10717	28	14.77	41	0
10718	25	38.61	38	0
10718	72	34.8	31	0.05
10719	1	19.33	4	0.2
10719	35	29.26	21	0
10720	10	10.68	38	0.2
10721	1	19.33	19	0
10721	59	24.61	11	0
10722	12	8.3	20	0
10722	23	37.14	19	0
10723	32	28.19	32	0.25
10724	10	10.68	22	0
10724	20	25.09	14	0.05
10724	34	43.37	10	0
10725	17	9.1	24	0.2
10725	52	56.4	9	0
10725	58	23.26	8	0
10726	15	24.48	16	0
10726	39	31.37	16	0
10727	58	23.26	41	0.1
10727	71	22.79	27	0
10728	8	56.03	12	0
10728	28	14.77	32	0
10728	30	38.76	25	0
10728	73	18.53	16	0
10729	33	27.33	35	0
10729	45	14.5	16	0.05
10730	45	14.5	40	0
10730	52	56.4	17	0
10730	65	13.28	5	0
10731	12	8.3	22	0
10731	17	9.1	13	0
10731	77	35.19	33	0.1
10732	15	24.48	19	0
10732	48	11.34	38	0.05
10732	66	26.5	22	0
10732	71	22.79	13	0
10733	32	28.19	23	0.2
10733	44	15.42	32	0.25
10733	49	25.98	16	0
10733	59	24.61	21	0
10733	74	14.59	13	0
10734	34	43.37	8	0.15
10734	61	19.47	29	0
10735	20	25.09	31	0
10735	29	31.56	14	0
10736	3	14.67	9	0.2
10737	30	38.76	43	0
10737	69	20.36	36	0
10737	72	34.8	20	0
10738	3	14.67	28	0.1
10738	11	21.0	28	0.2
10738	35	29.26	44	0
10739	20	25.09	45	0
10739	39	31.37	17	0.25
10739	70	23.98	15	0
10739	74	14.59	28	0.05
10740	27	9.02	99	0
10740	29	31.56	40	0
10740	61	19.47	61	0.2
10740	72	34.8	54	0
10741	21	43.69	19	0
10741	29	31.56	66	0
10741	56	21.58	25	0
10742	1	19.33	9	0.1
10742	4	8.7	15	0.2
10742	74	14.59	25	0.25
10743	35	29.26	13	0
10743	44	15.42	24	0
10744	2	19.0	26	0.05
10744	11	21.0	8	0
10745	3	14.67	28	0
10746	57	22.62	11	0.25
10746	65	13.28	41	0
10747	55	46.38	16	0.05
10748	46	12.0	14	0.2
10748	73	18.53	17	0
10749	20	25.09	10	0
10749	22	3.08	7	0
10749	49	25.98	20	0
10749	72	34.8	12	0
10750	20	25.09	17	0
10750	30	38.76	20	0.25
10750	52	56.4	13	0
10751	39	31.37	49	0
10751	55	46.38	12	0
10752	65	13.28	43	0
10752	71	22.79	17	0
10753	7	77.41	62	0
10753	38	25.9	99	0.25
10753	50	21.48	113	0
10754	37	22.01	15	0
10754	53	26.52	30	0.2
10754	66	26.5	15	0.1
10755	11	21.0	16	0.2
10755	15	24.48	17	0
10755	25	38.61	10	0
10756	16	28.96	2	0
10756	29	31.56	14	0
10756	48	11.34	44	0
10757	6	9.24	32	0
10757	14	14.17	12	0
10757	22	3.08	26	0.1
10758	42	14.0	12	0.2
10758	50	21.48	11	0
10759	41	14.16	70	0
10759	71	22.79	110	0
10760	49	25.98	29	0
10761	56	21.58	20	0.25
10762	23	37.14	43	0.1
10762	63	13.31	25	0
10763	27	9.02	11	0.15
10764	61	19.47	5	0.25
10765	3	14.67	41	0.15
10765	17	9.1	31	0
10766	69	20.36	23	0
10767	24	36.37	34	0.1
10767	53	26.52	39	0
10768	13	61.38	23	0
10768	36	10.63	42	0
10768	60	83.76	12	0
10768	73	18.53	25	0
10769	15	24.48	31	0.1
10769	21	43.69	11	0
10769	30	38.76	21	0.25
10769	49	25.98	40	0.05
10770	7	77.41	59	0.15
10770	63	13.31	47	0
10770	67	6.43	39	0
10771	64	15.16	18	0
10771	70	23.98	23	0
10772	44	15.42	44	0
10772	48	11.34	6	0
10772	62	31.82	20	0.1
10773	17	9.1	35	0
10773	41	14.16	31	0
10773	62	31.82	38	0
10774	24	36.37	29	0.05
10774	52	56.4	15	0
10775	13	61.38	12	0.15
10775	17	9.1	18	0.2
10775	19	37.95	12	0
10775	57	22.62	18	0
10775	64	15.16	25	0
10776	7	77.41	23	0
10776	74	14.59	27	0
10777	2	19.0	29	0
10777	7	77.41	33	0
10777	13	61.38	19	0
10777	34	43.37	26	0.05
10778	39	31.37	14	0
10778	63	13.31	33	0.05
10779	9	24.06	72	0.2
10779	13	61.38	49	0.25
10779	15	24.48	20	0
10779	16	28.96	17	0
10779	29	31.56	79	0
10779	72	34.8	28	0.05
10780	45	14.5	26	0
10780	65	13.28	17	0
10780	72	34.8	18	0
10781	13	61.38	33	0
10781	15	24.48	45	0.1
10781	63	13.31	7	0
10782	2	19.0	30	0.2
10782	6	9.24	18	0
10783	27	9.02	24	0.15
10783	66	26.5	21	0.1
10784	5	6.19	9	0
10785	11	21.0	38	0
10785	23	37.14	19	0
10785	37	22.01	7	0
10785	71	22.79	20	0.25
10786	70	23.98	17	0
10787	5	6.19	26	0
10787	12	8.3	19	0
10787	33	27.33	47	0
10787	35	29.26	36	0.1
10788	37	22.01	26	0
10788	71	22.79	30	0
10789	40	16.25	22	0.2
10790	19	37.95	18	0
10790	21	43.69	35	0.1
10790	48	11.34	35	0.05
10791	59	24.61	30	0
10792	10	10.68	17	0
10792	37	22.01	13	0.25
10792	49	25.98	29	0
10793	4	8.7	19	0
10793	22	3.08	33	0.15
10793	23	37.14	44	0
10793	77	35.19	41	0
10794	8	56.03	17	0.1
10795	36	10.63	43	0.1
10795	75	46.34	14	0.15
10796	1	19.33	16	0.25
10796	12	8.3	16	0.1
10796	18	74.44	29	0
10796	56	21.58	18	0
10796	76	18.0	19	0
10797	5	6.19	29	0
10797	14	14.17	7	0
10797	39	31.37	5	0
10798	1	19.33	6	0.15
10798	40	16.25	6	0
10798	58	23.26	14	0
10799	7	77.41	24	0.2
10800	29	31.56	28	0
10801	3	14.67	5	0.15
10801	8	56.03	19	0
10801	22	3.08	15	0
10801	65	13.28	17	0.05
10802	2	19.0	30	0
10802	17	9.1	31	0.05
10802	21	43.69	24	0
10803	31	12.66	20	0
10803	64	15.16	24	0.1
10804	5	6.19	23	0.15
10804	31	12.66	17	0.1
10804	48	11.34	17	0.25
10804	58	23.26	17	0.1
10805	3	14.67	21	0.05
10805	7	77.41	5	0.15
10805	63	13.31	13	0
10805	68	4.43	19	0.1
10806	6	9.24	18	0
10806	7	77.41	19	0
10806	11	21.0	37	0.05
10806	28	14.77	13	0
10807	13	61.38	27	0.05
10807	26	25.52	30	0
10807	62	31.82	8	0
10808	37	22.01	13	0
10808	40	16.25	6	0
10809	3	14.67	5	0.2
10809	22	3.08	13	0
10809	23	37.14	20	0
10809	38	25.9	8	0
10809	69	20.36	25	0
10810	45	14.5	33	0
10810	51	48.17	37	0.15
10810	52	56.4	8	0
10810	63	13.31	30	0.1
10810	70	23.98	15	0
10811	7	77.41	34	0.25
10811	46	12.0	18	0.15
10811	51	48.17	14	0
10812	40	16.25	23	0
10813	23	37.14	46	0
10813	46	12.0	7	0
10814	11	21.0	24	0
10814	37	22.01	18	0
10814	41	14.16	30	0
10814	69	20.36	29	0.15
10815	19	37.95	18	0.25
10815	68	4.43	33	0
10816	6	9.24	33	0.05
10817	4	8.7	30	0.1
10817	14	14.17	31	0
10817	34	43.37	46	0.1
10818	17	9.1	22	0.2
10818	38	25.9	31	0
10818	64	15.16	20	0.2
10818	68	4.43	16	0
10819	65	13.28	23	0.1
10819	66	26.5	34	0
10819	69	20.36	31	0
10820	38	25.9	18	0.1
10820	41	14.16	27	0
10820	55	46.38	26	0.05
10821	16	28.96	14	0
10822	55	46.38	44	0
10822	58	23.26	45	0
10823	3	14.67	24	0.05
10824	1	19.33	40	0
10824	30	38.76	16	0
10824	67	6.43	26	0.1
10825	20	25.09	36	0
10826	21	43.69	16	0
10826	72	34.8	16	0.05
10827	46	12.0	37	0.1
10828	23	37.14	66	0
10828	53	26.52	58	0.1
10828	68	4.43	22	0
10828	72	34.8	72	0
10829	7	77.41	19	0.1
10829	51	48.17	34	0.1
10829	76	18.0	19	0.05
10830	73	18.53	23	0.25
10831	11	21.0	87	0
10831	52	56.4	63	0
10831	53	26.52	49	0.25
10832	16	28.96	115	0.2
10832	32	28.19	21	0.05
10833	33	27.33	35	0.05
10833	44	15.42	22	0
10833	62	31.82	44	0.2
10834	38	25.9	11	0
10834	53	26.52	16	0
10835	39	31.37	16	0.05
10835	52	56.4	13	0
10836	54	17.05	8	0
10837	32	28.19	12	0.05
10837	56	21.58	17	0.15
10837	69	20.36	18	0.15
10838	5	6.19	18	0.2
10838	26	25.52	28	0
10838	28	14.77	19	0.25
10838	31	12.66	13	0
10839	5	6.19	97	0
10839	45	14.5	25	0
10840	14	14.17	26	0
10840	25	38.61	43	0.05
10840	45	14.5	17	0.1
10840	65	13.28	20	0
10841	9	24.06	25	0.15
10841	11	21.0	27	0
10841	19	37.95	11	0.2
10841	36	10.63	6	0
10841	55	46.38	20	0
10842	27	9.02	33	0
10842	41	14.16	24	0
10843	21	43.69	12	0
10843	27	9.02	36	0
10843	45	14.5	23	0.2
10843	53	26.52	38	0
10844	24	36.37	3	0.25
10844	45	14.5	15	0
10844	46	12.0	21	0.1
10844	75	46.34	15	0.2
10845	10	10.68	10	0.05
10845	51	48.17	5	0
10845	68	4.43	4	0
10846	8	56.03	59	0.15
10847	6	9.24	19	0
10847	67	6.43	19	0
10847	71	22.79	31	0.1
10848	13	61.38	41	0.05
10848	43	27.81	10	0
10848	60	83.76	35	0
10849	19	37.95	19	0
10849	26	25.52	26	0.1
10849	36	10.63	31	0.15
10849	63	13.31	24	0.15
10850	67	6.43	7	0
10851	35	29.26	12	0
10851	40	16.25	10	0.1
10851	65	13.28	35	0
10851	77	35.19	18	0.25
10852	77	35.19	25	0.2
10853	43	27.81	25	0
10853	67	6.43	31	0
10854	9	24.06	3	0
10855	23	37.14	20	0
10855	37	22.01	27	0.1
10856	41	14.16	114	0
10856	55	46.38	27	0.15
10857	32	28.19	64	0
10857	39	31.37	91	0
10858	9	24.06	25	0
10858	60	83.76	19	0
10858	63	13.31	27	0
10859	3	14.67	44	0.15
10859	41	14.16	7	0
10859	73	18.53	41	0.15
10859	75	46.34	37	0
10860	30	38.76	10	0
10861	33	27.33	17	0
10861	34	43.37	24	0
10861	39	31.37	25	0
10862	29	31.56	6	0
10862	38	25.9	24	0.1
10862	51	48.17	24	0.2
10863	59	24.61	6	0.1
10863	61	19.47	37	0.2
10864	8	56.03	30	0
10864	47	7.87	10	0.05
10865	8	56.03	33	0
10865	55	46.38	12	0
10865	60	83.76	21	0
10865	75	46.34	16	0
10866	8	56.03	28	0
10866	25	38.61	12	0
10866	55	46.38	19	0
10866	60	83.76	22	0.25
10867	40	16.25	40	0
10867	42	14.0	20	0
10868	46	12.0	60	0.1
10868	48	11.34	76	0
10869	14	14.17	9	0
10870	22	3.08	37	0.2
10870	27	9.02	31	0
10870	56	21.58	25	0.05
10870	70	23.98	14	0
10870	76	18.0	41	0
10871	36	10.63	24	0
10871	54	17.05	20	0.05
10871	69	20.36	17	0.05
10872	3	14.67	36	0
10872	29	31.56	26	0.2
10873	33	27.33	15	0.15
10873	51	48.17	19	0.2
10874	66	26.5	15	0
10875	48	11.34	23	0
10875	54	17.05	32	0
10876	26	25.52	30	0
10877	43	27.81	87	0
10877	58	23.26	71	0.1
10877	63	13.31	36	0.15
10878	55	46.38	21	0
10879	66	26.5	40	0.15
10879	67	6.43	12	0
10879	77	35.19	14	0.1
10880	30	38.76	11	0
10881	14	14.17	17	0
10881	54	17.05	24	0.05
10881	72	34.8	28	0
10882	71	22.79	31	0
10883	13	61.38	34	0
10883	14	14.17	27	0
10883	22	3.08	15	0
10884	27	9.02	35	0
10884	43	27.81	16	0.25
10885	3	14.67	27	0
10885	7	77.41	30	0
10885	17	9.1	16	0.1
10886	2	19.0	18	0.25
10886	10	10.68	10	0
10886	13	61.38	36	0.05
10886	49	25.98	11	0.2
10887	3	14.67	19	0.15
10887	34	43.37	33	0.2
10887	58	23.26	21	0
10888	67	6.43	9	0
10888	77	35.19	12	0
10889	20	25.09	32	0.05
10889	22	3.08	60	0
10889	43	27.81	88	0.15
10889	66	26.5	57	0.1
10890	28	14.77	22	0.05
10890	67	6.43	21	0
10891	13	61.38	28	0.1
10892	3	14.67	44	0.25
10892	42	14.0	39	0.15
10892	77	35.19	19	0
10893	5	6.19	13	0
10893	46	12.0	4	0.25
10893	74	14.59	14	0.05
10894	4	8.7	49	0
10894	28	14.77	105	0
10895	9	24.06	33	0.05
10895	21	43.69	16	0
10895	51	48.17	18	0
10895	64	15.16	20	0
10895	73	18.53	23	0
10896	18	74.44	16	0
10896	62	31.82	11	0.2
10896	76	18.0	26	0
10897	21	43.69	13	0
10897	30	38.76	9	0
10898	22	3.08	62	0
10898	29	31.56	49	0.15
10898	53	26.52	6	0
10898	54	17.05	74	0
10899	15	24.48	17	0
10899	26	25.52	22	0
10899	40	16.25	35	0.1
10900	13	61.38	19	0.05
10900	39	31.37	23	0
10900	51	48.17	36	0.25
10901	18	74.44	18	0
10901	32	28.19	38	0
10902	22	3.08	37	0
10902	54	17.05	13	0.1
10903	2	19.0	14	0.1
10903	64	15.16	8	0
10903	71	22.79	14	0
10904	15	24.48	26	0.15
10904	21	43.69	21	0.05
10904	41	14.16	9	0
10904	73	18.53	42	0.1
10905	2	19.0	106	0
10905	56	21.58	104	0
10905	69	20.36	10	0
10906	35	29.26	19	0.25
10906	73	18.53	18	0
10907	14	14.17	18	0.05
10907	31	12.66	12	0
10907	50	21.48	9	0
10908	12	8.3	45	0
10908	43	27.81	22	0
10908	62	31.82	25	0
10908	69	20.36	16	0
10909	5	6.19	25	0.2
10909	54	17.05	27	0
10909	56	21.58	34	0.05
10909	59	24.61	30	0.25
10910	27	9.02	10	0.25
10910	40	16.25	36	0
10911	10	10.68	22	0
10911	20	25.09	40	0.25
10911	68	4.43	38	0.1
10912	53	26.52	16	0.05
10913	22	3.08	20	0.15
10914	24	36.37	12	0.05
10914	66	26.5	18	0
10915	40	16.25	14	0
10915	77	35.19	39	0
10916	19	37.95	17	0.05
10916	55	46.38	31	0.15
10916	67	6.43	23	0
10917	3	14.67	20	0
10917	11	21.0	41	0
10917	23	37.14	29	0
10918	5	6.19	18	0.05
10918	35	29.26	31	0.25
10918	76	18.0	6	0.2
10919	29	31.56	36	0.05
10919	53	26.52	19	0
10920	28	14.77	35	0.1
10920	69	20.36	35	0.15
10921	18	74.44	9	0
10921	65	13.28	5	0.05
10922	21	43.69	31	0
10923	21	43.69	68	0
10923	44	15.42	27	0
10924	47	7.87	12	0.2
10924	59	24.61	8	0
10924	72	34.8	7	0
10925	28	14.77	33	0
10926	2	19.0	12	0.1
10926	29	31.56	10	0
10926	40	16.25	43	0
10926	46	12.0	25	0.25
10927	13	61.38	28	0
10927	19	37.95	3	0
10928	4	8.7	20	0.05
10928	27	9.02	13	0.25
10928	59	24.61	24	0.15
10929	19	37.95	16	0.2
10929	27	9.02	32	0
10929	32	28.19	44	0
10930	10	10.68	16	0
10930	24	36.37	42	0
10930	54	17.05	29	0
10930	62	31.82	24	0
10930	71	22.79	16	0
10931	32	28.19	111	0
10931	54	17.05	48	0
10932	70	23.98	18	0.15
10933	39	31.37	11	0
10933	45	14.5	13	0
10933	63	13.31	24	0
10934	8	56.03	19	0
10934	48	11.34	72	0
10935	35	29.26	24	0
10936	5	6.19	36	0.25
10936	68	4.43	66	0
10937	15	24.48	26	0
10937	28	14.77	31	0
10937	37	22.01	17	0.1
10938	13	61.38	15	0.1
10938	22	3.08	30	0.05
10938	26	25.52	28	0.05
10938	28	14.77	23	0
10938	77	35.19	19	0
10939	42	14.0	22	0
10939	65	13.28	17	0
10940	3	14.67	11	0.05
10940	25	38.61	29	0
10940	51	48.17	23	0
10940	64	15.16	7	0.05
10941	28	14.77	26	0
10941	29	31.56	9	0.2
10941	77	35.19	28	0
10942	36	10.63	22	0
10942	60	83.76	29	0
10942	62	31.82	19	0
10943	6	9.24	59	0.15
10944	17	9.1	32	0
10944	18	74.44	6	0.05
10944	33	27.33	10	0
10945	8	56.03	11	0
10945	20	25.09	16	0
10945	21	43.69	15	0.15
10945	22	3.08	10	0
10945	77	35.19	8	0
10946	8	56.03	14	0
10946	11	21.0	18	0.05
10946	54	17.05	26	0.05
10946	61	19.47	26	0
10947	40	16.25	3	0
10947	42	14.0	12	0.2
10948	7	77.41	36	0
10948	9	24.06	28	0
10948	61	19.47	13	0.15
10949	6	9.24	15	0
10949	54	17.05	28	0
10949	58	23.26	41	0
10949	63	13.31	17	0.05
10950	20	25.09	36	0
10950	47	7.87	26	0
10950	52	56.4	19	0
10951	12	8.3	19	0
10952	1	19.33	11	0.15
10952	30	38.76	23	0
10952	57	22.62	13	0
10953	1	19.33	32	0
10953	30	38.76	24	0
10954	25	38.61	20	0.05
10955	16	28.96	52	0.2
10955	74	14.59	46	0.05
10956	42	14.0	11	0.05
10956	56	21.58	16	0
10956	72	34.8	15	0
10956	73	18.53	28	0.15
10957	26	25.52	17	0
10957	57	22.62	10	0.25
10958	34	43.37	33	0.1
10958	66	26.5	22	0
10959	18	74.44	16	0.1
10959	20	25.09	22	0
10960	10	10.68	28	0
10961	19	37.95	4	0
10961	52	56.4	20	0.15
10961	69	20.36	32	0.1
10962	7	77.41	34	0
10962	32	28.19	11	0.2
10962	36	10.63	15	0
10963	7	77.41	25	0.15
10963	31	12.66	18	0
10964	22	3.08	22	0.05
10964	33	27.33	22	0.1
10964	63	13.31	14	0.2
10965	2	19.0	14	0
10965	14	14.17	47	0.25
10965	60	83.76	21	0
10965	73	18.53	29	0.2
10965	77	35.19	31	0
10966	29	31.56	18	0.2
10966	32	28.19	42	0.25
10966	56	21.58	56	0.1
10966	63	13.31	61	0
10967	7	77.41	18	0.05
10967	53	26.52	25	0
10968	7	77.41	37	0.25
10968	73	18.53	34	0
10969	53	26.52	20	0
10970	27	9.02	42	0.2
10970	67	6.43	34	0.1
10971	21	43.69	16	0
10971	56	21.58	27	0.25
10972	16	28.96	21	0
10972	39	31.37	18	0
10972	64	15.16	13	0
10973	20	25.09	33	0
10973	39	31.37	20	0.2
10973	71	22.79	33	0.15
10974	17	9.1	11	0
10974	25	38.61	10	0
10974	35	29.26	17	0
10975	37	22.01	21	0.2
10976	11	21.0	53	0.15
10976	34	43.37	85	0
10977	7	77.41	17	0
10977	51	48.17	27	0
10977	59	24.61	21	0.2
10977	64	15.16	35	0
10978	22	3.08	17	0
10978	49	25.98	44	0.1
10979	9	24.06	28	0.05
10979	49	25.98	21	0
10980	13	61.38	16	0.05
10980	77	35.19	28	0.2
10981	13	61.38	20	0
10981	22	3.08	47	0.1
10981	34	43.37	32	0
10981	60	83.76	43	0
10982	1	19.33	22	0
10982	4	8.7	28	0.2
10982	27	9.02	9	0
10982	32	28.19	15	0
10983	10	10.68	38	0.05
10984	46	12.0	24	0.15
10984	47	7.87	16	0
10985	61	19.47	13	0
10986	9	24.06	4	0
10986	18	74.44	10	0
10986	75	46.34	13	0.25
10987	34	43.37	10	0
10987	43	27.81	20	0
10987	53	26.52	39	0
10987	67	6.43	15	0.05
10988	75	46.34	40	0
10989	6	9.24	14	0.25
10989	12	8.3	17	0.25
10989	27	9.02	16	0.2
10989	41	14.16	10	0
10990	30	38.76	39	0
10990	47	7.87	36	0.1
10990	57	22.62	46	0.2
10991	37	22.01	23	0
10991	53	26.52	15	0.2
10991	63	13.31	37	0.2
10992	39	31.37	22	0
10992	74	14.59	24	0
10993	26	25.52	28	0.2
10993	29	31.56	24	0.25
10993	51	48.17	45	0
10994	24	36.37	35	0.2
10995	6	9.24	38	0
10995	21	43.69	23	0
10995	49	25.98	22	0
10996	62	31.82	22	0.1
10997	41	14.16	1	0
10997	48	11.34	39	0.15
10997	66	26.5	7	0
10998	46	12.0	47	0
10998	76	18.0	11	0.2
10999	27	9.02	27	0
10999	60	83.76	23	0
11000	9	24.06	23	0
11000	39	31.37	30	0
11001	5	6.19	20	0
11001	26	25.52	36	0
11001	27	9.02	3	0.05
11001	42	14.0	28	0.05
11002	23	37.14	15	0.15
11002	32	28.19	14	0
11002	63	13.31	27	0.1
11003	16	28.96	30	0
11003	54	17.05	10	0
11004	11	21.0	30	0
11004	33	27.33	21	0
11005	22	3.08	29	0
11006	61	19.47	18	0
11007	1	19.33	21	0
11007	25	38.61	25	0
11007	74	14.59	42	0
11008	16	28.96	44	0.1
11008	31	12.66	6	0.05
11008	71	22.79	10	0.25
11009	61	19.47	11	0
11010	20	25.09	34	0.15
11010	35	29.26	18	0
11010	49	25.98	3	0.05
11010	63	13.31	18	0
11011	58	23.26	9	0.25
11011	77	35.19	15	0
11012	48	11.34	9	0.15
11012	50	21.48	29	0
11013	8	56.03	27	0.25
11013	24	36.37	36	0
11013	36	10.63	26	0
11014	42	14.0	28	0
11014	52	56.4	73	0
11014	61	19.47	93	0.05
11014	67	6.43	62	0.05
11015	1	19.33	58	0
11015	41	14.16	107	0
11015	45	14.5	36	0.25
11016	62	31.82	44	0.2
11016	67	6.43	10	0.1
11017	7	77.41	13	0
11017	24	36.37	19	0
11017	29	31.56	22	0.2
11017	31	12.66	26	0.05
11017	63	13.31	14	0.2
11018	32	28.19	6	0.25
11018	44	15.42	15	0.1
11018	71	22.79	22	0
11019	13	61.38	28	0
11019	66	26.5	36	0.25
11019	75	46.34	43	0.25
11020	25	38.61	34	0
11020	43	27.81	21	0.15
11020	66	26.5	5	0
11021	8	56.03	46	0.05
11021	28	14.77	21	0
11022	9	24.06	20	0
11022	11	21.0	17	0.05
11022	20	25.09	23	0
11022	52	56.4	15	0.15
11023	8	56.03	14	0
11023	54	17.05	20	0.15
11023	71	22.79	40	0.2
11024	40	16.25	6	0.25
11024	71	22.79	15	0.25
11025	28	14.77	39	0
11025	42	14.0	10	0
11025	53	26.52	17	0.15
11026	18	74.44	28	0.25
11026	57	22.62	19	0
11026	73	18.53	15	0
11027	27	9.02	16	0.05
11027	64	15.16	11	0
11028	47	7.87	19	0.1
11029	8	56.03	16	0
11029	24	36.37	27	0
11030	7	77.41	16	0
11030	59	24.61	44	0
11031	22	3.08	19	0
11031	74	14.59	34	0
11032	43	27.81	17	0
11032	44	15.42	17	0.2
11033	18	74.44	33	0
11033	24	36.37	29	0
11033	59	24.61	37	0
11034	14	14.17	42	0
11034	41	14.16	17	0.15
11034	58	23.26	41	0
11034	60	83.76	43	0
11034	77	35.19	11	0.15
11035	15	24.48	23	0
11035	16	28.96	13	0.2
11035	29	31.56	16	0
11036	3	14.67	13	0.25
11036	24	36.37	18	0.1
11036	69	20.36	15	0
11037	10	10.68	17	0
11037	33	27.33	8	0.1
11037	38	25.9	11	0
11037	71	22.79	46	0
11038	27	9.02	20	0
11038	36	10.63	23	0.2
11038	70	23.98	37	0
11039	19	37.95	25	0
11039	21	43.69	30	0.25
11039	51	48.17	23	0.2
11039	75	46.34	23	0
11040	19	37.95	20	0
11040	52	56.4	25	0
11040	73	18.53	24	0.05
11041	20	25.09	40	0.15
11041	56	21.58	19	0
11042	9	24.06	23	0
11042	38	25.9	27	0
11043	37	22.01	30	0
11043	43	27.81	21	0
11044	6	9.24	19	0.25
11044	23	37.14	31	0
11045	25	38.61	19	0
11045	37	22.01	39	0
11045	52	56.4	17	0
11046	25	38.61	10	0.25
11046	32	28.19	29	0.2
11046	60	83.76	15	0
11047	22	3.08	6	0
11047	47	7.87	16	0
11048	38	25.9	26	0
11048	40	16.25	17	0
11048	49	25.98	23	0
11048	75	46.34	13	0
11049	18	74.44	33	0.15
11049	70	23.98	36	0.2
11050	24	36.37	37	0.05
11050	32	28.19	21	0
11050	36	10.63	20	0
11050	66	26.5	19	0
11051	36	10.63	13	0.05
11051	42	14.0	15	0
11051	56	21.58	17	0.05
11051	60	83.76	28	0
11052	1	19.33	20	0.15
11052	12	8.3	24	0
11052	68	4.43	16	0
11053	43	27.81	14	0
11053	61	19.47	36	0
11054	43	27.81	48	0
11054	49	25.98	26	0.05
11055	2	19.0	45	0
11055	20	25.09	7	0
11055	40	16.25	27	0.2
11056	19	37.95	10	0
11056	71	22.79	25	0
11057	14	14.17	16	0
11058	4	8.7	20	0.2
11058	44	15.42	45	0
11058	46	12.0	35	0
11058	53	26.52	31	0
11059	4	8.7	46	0
11059	18	74.44	26	0
11059	31	12.66	37	0
11059	63	13.31	14	0
11059	72	34.8	52	0.05
11060	22	3.08	14	0
11060	24	36.37	44	0.2
11060	33	27.33	30	0.2
11061	48	11.34	43	0
11061	58	23.26	22	0.2
11061	75	46.34	29	0
11062	34	43.37	44	0
11062	38	25.9	10	0.25
11062	63	13.31	45	0
11062	76	18.0	18	0
11063	2	19.0	33	0.15
11064	9	24.06	11	0.1
11064	21	43.69	11	0
11065	6	9.24	19	0.1
11065	8	56.03	9	0
11065	41	14.16	18	0
11065	49	25.98	30	0.2
11066	32	28.19	34	0
11066	42	14.0	18	0
11067	9	24.06	17	0.15
11067	39	31.37	10	0.25
11067	66	26.5	35	0.1
11068	2	19.0	40	0
11068	45	14.5	40	0
11068	60	83.76	34	0.2
11069	35	29.26	33	0
11069	38	25.9	27	0.05
11070	4	8.7	11	0
11070	33	27.33	22	0
11070	52	56.4	40	0
11071	52	56.4	13	0
11072	21	43.69	14	0
11072	23	37.14	14	0
11072	70	23.98	35	0
11072	72	34.8	17	0.25
11073	63	13.31	78	0.05
11073	74	14.59	15	0
11074	27	9.02	15	0.25
11074	35	29.26	9	0.25
11076	37	22.01	37	0
11077	2	19.0	11	0
11077	3	14.67	17	0
11077	4	8.7	25	0
11077	12	8.3	28	0.1
11077	18	74.44	29	0
11077	19	37.95	27	0.2
11077	21	43.69	38	0
11077	22	3.08	24	0.15
11077	24	36.37	17	0
11077	33	27.33	31	0
11077	34	43.37	37	0
11077	39	31.37	21	0
11077	45	14.5	24	0
11077	50	21.48	13	0
11077	55	46.38	25	0
11077	56	21.58	17	0.25
11077	58	23.26	29	0.1
11077	59	24.61	15	0.05
11077	62	31.82	6	0.05
11077	63	13.31	30	0.25
11077	64	15.16	30	0
11077	67	6.43	31	0
11077	70	23.98	47	0
11077	72	34.8	33	0
11077	73	18.53	19	0.1
\.
