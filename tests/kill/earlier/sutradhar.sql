BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0005');
CREATE TABLE chunks (
	document_id VARCHAR NOT NULL, 
	ordinal INTEGER NOT NULL, 
	section INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	breadcrumb TEXT NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_chunks PRIMARY KEY (document_id, ordinal), 
	CONSTRAINT fk_chunks_documents FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE council_ballots (
	space VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	seat INTEGER NOT NULL, 
	shown TEXT NOT NULL, 
	ranking TEXT NOT NULL, 
	source VARCHAR NOT NULL, 
	partial BOOLEAN NOT NULL, 
	raw TEXT NOT NULL, 
	again TEXT NOT NULL, 
	reasoning TEXT NOT NULL, 
	critiques TEXT NOT NULL, 
	seconds FLOAT NOT NULL, 
	fault TEXT NOT NULL, 
	CONSTRAINT pk_council_ballots PRIMARY KEY (space, run_id, seat), 
	CONSTRAINT fk_council_ballots_councils FOREIGN KEY(space, run_id) REFERENCES councils (space, run_id) ON DELETE CASCADE
);
INSERT INTO "council_ballots" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870',0,'[2, 3, 0, 1]','[1, 0, 2, 3]','schema',0,'{"critiques": {"A": "Clear, and too sure of the weather.", "B": "Clear, and too sure of the weather.", "C": "Clear, and too sure of the weather.", "D": "Clear, and too sure of the weather."}, "ranking": ["D", "C", "A", "B"]}','','','{"A": "Clear, and too sure of the weather.", "B": "Clear, and too sure of the weather.", "C": "Clear, and too sure of the weather.", "D": "Clear, and too sure of the weather."}',1.6025353599980007857e-01,'');
INSERT INTO "council_ballots" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870',1,'[1, 0, 3, 2]','[1, 0, 2, 3]','schema',0,'{"critiques": {"A": "Clear, and too sure of the weather.", "B": "Clear, and too sure of the weather.", "C": "Clear, and too sure of the weather.", "D": "Clear, and too sure of the weather."}, "ranking": ["A", "B", "D", "C"]}','','','{"A": "Clear, and too sure of the weather.", "B": "Clear, and too sure of the weather.", "C": "Clear, and too sure of the weather.", "D": "Clear, and too sure of the weather."}',2.04401744998904177919e-01,'');
INSERT INTO "council_ballots" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870',2,'[3, 1, 2, 0]','[1, 0, 2, 3]','schema',0,'{"critiques": {"A": "Clear, and too sure of the weather.", "B": "Clear, and too sure of the weather.", "C": "Clear, and too sure of the weather.", "D": "Clear, and too sure of the weather."}, "ranking": ["B", "D", "C", "A"]}','','','{"A": "Clear, and too sure of the weather.", "B": "Clear, and too sure of the weather.", "C": "Clear, and too sure of the weather.", "D": "Clear, and too sure of the weather."}',2.50778027999331243336e-01,'');
INSERT INTO "council_ballots" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870',3,'[0, 2, 1, 3]','[1, 0, 2, 3]','ranking',0,'Response A: Clear, and too sure of the weather.
Response B: Clear, and too sure of the weather.
Response C: Clear, and too sure of the weather.
Response D: Clear, and too sure of the weather.

FINAL RANKING:
1. Response C
2. Response A
3. Response B
4. Response D','','','{"A": "Response A: Clear, and too sure of the weather.", "B": "Response B: Clear, and too sure of the weather.", "C": "Response C: Clear, and too sure of the weather.", "D": "Response D: Clear, and too sure of the weather."}',3.33532442997238831594e-01,'');
CREATE TABLE council_seats (
	space VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	seat INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	model VARCHAR NOT NULL, 
	settings TEXT NOT NULL, 
	state VARCHAR NOT NULL, 
	fault TEXT NOT NULL, 
	answer TEXT NOT NULL, 
	first_answer TEXT NOT NULL, 
	reasoning TEXT NOT NULL, 
	seconds FLOAT NOT NULL, 
	tokens INTEGER, 
	cost_usd BIGINT, 
	place INTEGER, 
	score FLOAT, 
	mean_rank FLOAT, 
	CONSTRAINT pk_council_seats PRIMARY KEY (space, run_id, seat), 
	CONSTRAINT fk_council_seats_councils FOREIGN KEY(space, run_id) REFERENCES councils (space, run_id) ON DELETE CASCADE
);
INSERT INTO "council_seats" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870',0,'m1','local:m1','local:m1','answered','','The pass: it is short, and by noon the snow is packed hard.','','',1.12717288400017423555e+00,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "council_seats" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870',1,'m2','local:m2','local:m2','answered','','The ferry: the river never freezes, and nobody watches the far bank.','','',1.16912902100011706352e+00,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "council_seats" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870',2,'m3','local:m3','local:m3','answered','','The old bridge: slow, but a loaded wagon crosses it in any weather.','','',1.23179890499886823818e+00,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "council_seats" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870',3,'m4','plain:m4','plain:m4','answered','','The coast road: two days longer, with an inn at every stage.','','',1.2898113410010410007e+00,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "council_seats" VALUES('local','01a2093a-cb30-73e5-9204-361e0f2136b4',0,'m1','local:m1','local:m1','answered','','The pass: it is short, and by noon the snow is packed hard.','','',2.12200443099936819635e+00,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "council_seats" VALUES('local','01a2093a-cb30-73e5-9204-361e0f2136b4',1,'m2','local:m2','local:m2','answered','','The ferry: the river never freezes, and nobody watches the far bank.','','',2.1962648250009806361e+00,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "council_seats" VALUES('local','01a2093a-cb30-73e5-9204-361e0f2136b4',2,'m3','local:m3','local:m3','answered','','The old bridge: slow, but a loaded wagon crosses it in any weather.','','',2.2989658369988319464e+00,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "council_seats" VALUES('local','01a2093a-cb30-73e5-9204-361e0f2136b4',3,'m4','plain:m4','plain:m4','answered','','The coast road: two days longer, with an inn at every stage.','','',2.46754713300106232054e+00,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE council_settings (
	space VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	value TEXT NOT NULL, 
	author_id VARCHAR NOT NULL, 
	updated_at DATETIME NOT NULL, 
	CONSTRAINT pk_council_settings PRIMARY KEY (space, name)
);
CREATE TABLE councils (
	space VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	platform VARCHAR NOT NULL, 
	channel VARCHAR NOT NULL, 
	thread VARCHAR NOT NULL, 
	author_id VARCHAR NOT NULL, 
	question TEXT NOT NULL, 
	level VARCHAR NOT NULL, 
	criteria TEXT NOT NULL, 
	research TEXT NOT NULL, 
	chair VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	verdict TEXT NOT NULL, 
	dissent TEXT NOT NULL, 
	tally TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	ended_at DATETIME, 
	CONSTRAINT pk_councils PRIMARY KEY (space, run_id)
);
INSERT INTO "councils" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870','terminal','terminal','a','ana','Which way should the caravan take in winter?','full','accuracy first; then insight, completeness for what was asked, and clarity','{}','','','','','','2026-11-23 16:24:46.386170',NULL);
INSERT INTO "councils" VALUES('local','01a2093a-cb30-73e5-9204-361e0f2136b4','terminal','terminal','b','ana','Which way should the caravan take in winter?','full','accuracy first; then insight, completeness for what was asked, and clarity','{}','','','','','','2026-11-23 16:26:19.536889',NULL);
CREATE TABLE documents (
	id VARCHAR NOT NULL, 
	space VARCHAR NOT NULL, 
	shelf VARCHAR NOT NULL, 
	source VARCHAR NOT NULL, 
	title VARCHAR NOT NULL, 
	language VARCHAR NOT NULL, 
	sha256 VARCHAR NOT NULL, 
	size BIGINT NOT NULL, 
	state VARCHAR NOT NULL, 
	section_count INTEGER NOT NULL, 
	chunk_count INTEGER NOT NULL, 
	embedded INTEGER NOT NULL, 
	embedder VARCHAR, 
	created_at DATETIME NOT NULL, built_by VARCHAR, retired_at DATETIME, 
	CONSTRAINT pk_documents PRIMARY KEY (id)
);
CREATE TABLE exchanges (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	space VARCHAR NOT NULL, 
	session_id VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	question TEXT NOT NULL, 
	answer TEXT NOT NULL, 
	citations TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT fk_exchanges_sessions FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE, 
	CONSTRAINT uq_exchanges_session_id_run_id UNIQUE (session_id, run_id)
);
CREATE TABLE feedback (
	space VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	author_id VARCHAR NOT NULL, 
	verdict VARCHAR NOT NULL, 
	updated_at DATETIME NOT NULL, 
	CONSTRAINT pk_feedback PRIMARY KEY (space, run_id, author_id)
);
CREATE TABLE inbox (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR NOT NULL, 
	platform VARCHAR NOT NULL, 
	space VARCHAR NOT NULL, 
	channel VARCHAR NOT NULL, 
	thread VARCHAR NOT NULL, 
	author_id VARCHAR NOT NULL, 
	work VARCHAR NOT NULL, 
	verb VARCHAR NOT NULL, 
	ordered BOOLEAN NOT NULL, 
	payload TEXT NOT NULL, 
	state VARCHAR NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT uq_inbox_id UNIQUE (id)
);
INSERT INTO "inbox" VALUES(1,'01a20939-5ec9-7665-ad4d-41cea05ba870','terminal','local','terminal','a','ana','council','ask',1,'{"id":"01a20939-5ec9-7665-ad4d-41cea05ba870","place":{"platform":"terminal","space":"local","channel":"terminal","thread":"a"},"author":{"id":"ana","name":"ana","admin":true},"work":"council","verb":"ask","options":{},"text":"Which way should the caravan take in winter?","files":[],"locale":"en","origin":""}','running','2026-11-23 16:24:46.147046');
INSERT INTO "inbox" VALUES(2,'01a2093a-cb30-73e5-9204-361e0f2136b4','terminal','local','terminal','b','ana','council','ask',1,'{"id":"01a2093a-cb30-73e5-9204-361e0f2136b4","place":{"platform":"terminal","space":"local","channel":"terminal","thread":"b"},"author":{"id":"ana","name":"ana","admin":true},"work":"council","verb":"ask","options":{},"text":"Which way should the caravan take in winter?","files":[],"locale":"en","origin":""}','running','2026-11-23 16:26:19.193634');
INSERT INTO "inbox" VALUES(3,'01a2093a-eb84-7546-92a4-a04944a8d9c1','terminal','local','terminal','c','ana','council','ask',1,'{"id":"01a2093a-eb84-7546-92a4-a04944a8d9c1","place":{"platform":"terminal","space":"local","channel":"terminal","thread":"c"},"author":{"id":"ana","name":"ana","admin":true},"work":"council","verb":"ask","options":{},"text":"Which way should the caravan take in winter?","files":[],"locale":"en","origin":""}','running','2026-11-23 16:26:28.013449');
CREATE TABLE job_errors (
	space VARCHAR NOT NULL, 
	job_id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	"key" VARCHAR NOT NULL, 
	"values" TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_job_errors PRIMARY KEY (space, job_id, name), 
	CONSTRAINT fk_job_errors_jobs FOREIGN KEY(space, job_id) REFERENCES jobs (space, id) ON DELETE CASCADE
);
CREATE TABLE jobs (
	id VARCHAR NOT NULL, 
	space VARCHAR NOT NULL, 
	shelf VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	phase VARCHAR NOT NULL, 
	done INTEGER NOT NULL, 
	total INTEGER NOT NULL, 
	files_total INTEGER NOT NULL, 
	files_done INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	updated_at DATETIME NOT NULL, 
	CONSTRAINT pk_jobs PRIMARY KEY (space, id)
);
CREATE TABLE ledger (
	id VARCHAR NOT NULL, 
	space VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	step VARCHAR NOT NULL, 
	author_id VARCHAR NOT NULL, 
	model VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	estimate_tokens INTEGER NOT NULL, 
	estimate_usd BIGINT, 
	input_tokens INTEGER NOT NULL, 
	output_tokens INTEGER NOT NULL, 
	cache_read_tokens INTEGER NOT NULL, 
	cache_write_tokens INTEGER NOT NULL, 
	cost_usd BIGINT, 
	created_at DATETIME NOT NULL, 
	settled_at DATETIME, 
	CONSTRAINT pk_ledger PRIMARY KEY (id)
);
INSERT INTO "ledger" VALUES('01a20939-66c9-7183-b2f4-c294aa66066e','local','01a20939-5ec9-7665-ad4d-41cea05ba870','answer-1','ana','local:m1','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:24:46.542000','2026-11-23 16:24:47.651214');
INSERT INTO "ledger" VALUES('01a20939-66c9-7183-b2f4-c295eef3a736','local','01a20939-5ec9-7665-ad4d-41cea05ba870','answer-2','ana','local:m2','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:24:46.549864','2026-11-23 16:24:47.703193');
INSERT INTO "ledger" VALUES('01a20939-66c9-7183-b2f4-c2968af59e4a','local','01a20939-5ec9-7665-ad4d-41cea05ba870','answer-3','ana','local:m3','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:24:46.560605','2026-11-23 16:24:47.766090');
INSERT INTO "ledger" VALUES('01a20939-66ca-7091-a82a-9dfe07594e2f','local','01a20939-5ec9-7665-ad4d-41cea05ba870','answer-4','ana','plain:m4','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:24:46.568624','2026-11-23 16:24:47.825639');
INSERT INTO "ledger" VALUES('01a20939-6bfe-7619-9ecb-fe2d5964ece8','local','01a20939-5ec9-7665-ad4d-41cea05ba870','ballot-3','ana','local:m3','settled',6550,NULL,298,1,0,0,NULL,'2026-11-23 16:24:47.877523','2026-11-23 16:24:48.118496');
INSERT INTO "ledger" VALUES('01a20939-6c01-7309-a0a1-f7f6ade33bc8','local','01a20939-5ec9-7665-ad4d-41cea05ba870','ballot-2','ana','local:m2','settled',6550,NULL,298,1,0,0,NULL,'2026-11-23 16:24:47.894467','2026-11-23 16:24:48.073909');
INSERT INTO "ledger" VALUES('01a20939-6c01-7309-a0a1-f7f7e51b0730','local','01a20939-5ec9-7665-ad4d-41cea05ba870','ballot-4','ana','plain:m4','settled',6550,NULL,352,1,0,0,NULL,'2026-11-23 16:24:47.911073','2026-11-23 16:24:48.203319');
INSERT INTO "ledger" VALUES('01a20939-6c03-70ee-8978-7fa7609e813a','local','01a20939-5ec9-7665-ad4d-41cea05ba870','ballot-1','ana','local:m1','settled',6550,NULL,298,1,0,0,NULL,'2026-11-23 16:24:47.920854','2026-11-23 16:24:48.033431');
INSERT INTO "ledger" VALUES('01a20939-6d66-71dc-96f1-b46018f741e3','local','01a20939-5ec9-7665-ad4d-41cea05ba870','synthesis','ana','local:chair','reserved',4768,NULL,0,0,0,0,NULL,'2026-11-23 16:24:48.232482',NULL);
INSERT INTO "ledger" VALUES('01a2093a-d335-70f6-93d2-2d6fe17aa83b','local','01a2093a-cb30-73e5-9204-361e0f2136b4','answer-3','ana','local:m3','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:26:19.833862','2026-11-23 16:26:22.106764');
INSERT INTO "ledger" VALUES('01a2093a-d336-72ef-8834-108dd3ef2bc1','local','01a2093a-cb30-73e5-9204-361e0f2136b4','answer-1','ana','local:m1','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:26:19.859772','2026-11-23 16:26:21.947335');
INSERT INTO "ledger" VALUES('01a2093a-d336-72ef-8834-108e58440c29','local','01a2093a-cb30-73e5-9204-361e0f2136b4','answer-4','ana','plain:m4','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:26:19.865368','2026-11-23 16:26:22.294796');
INSERT INTO "ledger" VALUES('01a2093a-d337-711c-a84f-eb73d429789f','local','01a2093a-cb30-73e5-9204-361e0f2136b4','answer-2','ana','local:m2','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:26:19.895380','2026-11-23 16:26:22.014112');
INSERT INTO "ledger" VALUES('01a2093a-d5ca-77e2-8a1f-06de0fb14d64','local','01a20939-5ec9-7665-ad4d-41cea05ba870','synthesis','ana','local:chair','reserved',4768,NULL,0,0,0,0,NULL,'2026-11-23 16:26:20.532211',NULL);
INSERT INTO "ledger" VALUES('01a2093a-dd4d-75e7-84c0-fff2596ddf55','local','01a2093a-cb30-73e5-9204-361e0f2136b4','ballot-1','ana','local:m1','settled',6550,NULL,298,1,0,0,NULL,'2026-11-23 16:26:22.431059','2026-11-23 16:26:22.590607');
INSERT INTO "ledger" VALUES('01a2093a-dd4e-74ad-9c32-1d077de8424c','local','01a2093a-cb30-73e5-9204-361e0f2136b4','ballot-3','ana','local:m3','settled',6550,NULL,298,1,0,0,NULL,'2026-11-23 16:26:22.469316','2026-11-23 16:26:22.745928');
INSERT INTO "ledger" VALUES('01a2093a-dd4e-74ad-9c32-1d08ecb5c8b8','local','01a2093a-cb30-73e5-9204-361e0f2136b4','ballot-4','ana','plain:m4','reserved',6550,NULL,0,0,0,0,NULL,'2026-11-23 16:26:22.516077',NULL);
INSERT INTO "ledger" VALUES('01a2093a-dd4e-74ad-9c32-1d091f11832f','local','01a2093a-cb30-73e5-9204-361e0f2136b4','ballot-2','ana','local:m2','settled',6550,NULL,298,1,0,0,NULL,'2026-11-23 16:26:22.529806','2026-11-23 16:26:22.733558');
INSERT INTO "ledger" VALUES('01a2093a-fa2e-75f8-9765-789ada98b141','local','01a2093a-eb84-7546-92a4-a04944a8d9c1','answer-1','ana','local:m1','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:26:29.905164','2026-11-23 16:26:32.677774');
INSERT INTO "ledger" VALUES('01a2093a-fa2f-7785-adf7-176c3cf9a2e6','local','01a2093a-eb84-7546-92a4-a04944a8d9c1','answer-2','ana','local:m2','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:26:30.030899','2026-11-23 16:26:32.717955');
INSERT INTO "ledger" VALUES('01a2093a-fa2f-7785-adf7-176df7284a52','local','01a2093a-eb84-7546-92a4-a04944a8d9c1','answer-3','ana','local:m3','settled',4208,NULL,141,1,0,0,NULL,'2026-11-23 16:26:30.082648','2026-11-23 16:26:32.786928');
INSERT INTO "ledger" VALUES('01a2093a-fa2f-7785-adf7-176e2afb3fc0','local','01a2093a-eb84-7546-92a4-a04944a8d9c1','answer-4','ana','plain:m4','reserved',4208,NULL,0,0,0,0,NULL,'2026-11-23 16:26:30.121551',NULL);
INSERT INTO "ledger" VALUES('01a2093a-fd29-76e7-8652-06ba0fadb419','local','01a2093a-cb30-73e5-9204-361e0f2136b4','ballot-4','ana','plain:m4','reserved',6550,NULL,0,0,0,0,NULL,'2026-11-23 16:26:30.572425',NULL);
INSERT INTO "ledger" VALUES('01a2093a-fd7a-770c-b4d9-93db858fb98f','local','01a20939-5ec9-7665-ad4d-41cea05ba870','synthesis','ana','local:chair','reserved',4768,NULL,0,0,0,0,NULL,'2026-11-23 16:26:30.985308',NULL);
CREATE TABLE leftovers (
	space VARCHAR NOT NULL, 
	document_id VARCHAR NOT NULL, 
	shelf VARCHAR NOT NULL, 
	CONSTRAINT pk_leftovers PRIMARY KEY (space, document_id)
);
CREATE TABLE links (
	document_id VARCHAR NOT NULL, 
	ordinal INTEGER NOT NULL, 
	section INTEGER NOT NULL, 
	target TEXT NOT NULL, 
	CONSTRAINT pk_links PRIMARY KEY (document_id, ordinal), 
	CONSTRAINT fk_links_documents FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE marks (
	name VARCHAR NOT NULL, 
	value TEXT NOT NULL, 
	updated_at DATETIME NOT NULL, 
	CONSTRAINT pk_marks PRIMARY KEY (name)
);
CREATE TABLE offers (
	space VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	n INTEGER NOT NULL, 
	item TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_offers PRIMARY KEY (space, run_id, kind, n)
);
CREATE TABLE outbox (
	space VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	stage VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	message_id VARCHAR, 
	shown VARCHAR, 
	created_at DATETIME NOT NULL, 
	CONSTRAINT pk_outbox PRIMARY KEY (space, run_id, stage)
);
INSERT INTO "outbox" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870','answers','sent','answers','5e47ecb36bad1ef1','2026-11-23 16:24:46.516461');
INSERT INTO "outbox" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870','ballots','sent','ballots','771846e1aa15202b','2026-11-23 16:24:47.856422');
INSERT INTO "outbox" VALUES('local','01a20939-5ec9-7665-ad4d-41cea05ba870','synthesis','sending',NULL,NULL,'2026-11-23 16:24:48.222326');
INSERT INTO "outbox" VALUES('local','01a2093a-cb30-73e5-9204-361e0f2136b4','answers','sent','answers','3be9f1685a779f54','2026-11-23 16:26:19.766501');
INSERT INTO "outbox" VALUES('local','01a2093a-cb30-73e5-9204-361e0f2136b4','ballots','sending',NULL,NULL,'2026-11-23 16:26:22.385227');
INSERT INTO "outbox" VALUES('local','01a2093a-eb84-7546-92a4-a04944a8d9c1','answers','sending',NULL,NULL,'2026-11-23 16:26:29.634861');
CREATE TABLE pages (
	document_id VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	CONSTRAINT pk_pages PRIMARY KEY (document_id, number), 
	CONSTRAINT fk_pages_document_id_documents FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE prompt_overrides (
	space VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	author_id VARCHAR NOT NULL, 
	updated_at DATETIME NOT NULL, 
	CONSTRAINT pk_prompt_overrides PRIMARY KEY (space, name)
);
CREATE TABLE query_vectors (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	space VARCHAR NOT NULL, 
	embedder VARCHAR NOT NULL, 
	text_hash VARCHAR NOT NULL, 
	vector BLOB NOT NULL, 
	CONSTRAINT uq_query_vectors_space_embedder_text_hash UNIQUE (space, embedder, text_hash)
);
CREATE TABLE sections (
	document_id VARCHAR NOT NULL, 
	ordinal INTEGER NOT NULL, 
	level INTEGER NOT NULL, 
	title VARCHAR NOT NULL, 
	path TEXT NOT NULL, 
	start INTEGER NOT NULL, 
	"end" INTEGER NOT NULL, 
	page INTEGER, 
	CONSTRAINT pk_sections PRIMARY KEY (document_id, ordinal), 
	CONSTRAINT fk_sections_documents FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE segments (
	document_id VARCHAR NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_segments PRIMARY KEY (document_id), 
	CONSTRAINT fk_segments_documents FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE sessions (
	id VARCHAR NOT NULL, 
	space VARCHAR NOT NULL, 
	platform VARCHAR NOT NULL, 
	channel VARCHAR NOT NULL, 
	thread VARCHAR NOT NULL, 
	work VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	created_at DATETIME NOT NULL, 
	closed_at DATETIME, title VARCHAR DEFAULT '' NOT NULL, author_id VARCHAR DEFAULT '' NOT NULL, updated_at DATETIME DEFAULT '1970-01-01 00:00:00' NOT NULL, 
	CONSTRAINT pk_sessions PRIMARY KEY (id)
);
INSERT INTO "sessions" VALUES('01a20939-662a-71af-8de5-f956431e1570','local','terminal','terminal','a','council','active','2026-11-23 16:24:46.378718',NULL,'Which way should the caravan take in winter?','ana','2026-11-23 16:24:46.378718');
INSERT INTO "sessions" VALUES('01a2093a-d1ff-730f-a76a-ac2860ba4b98','local','terminal','terminal','b','council','active','2026-11-23 16:26:19.519400',NULL,'Which way should the caravan take in winter?','ana','2026-11-23 16:26:19.519400');
INSERT INTO "sessions" VALUES('01a2093a-f6ce-7596-8802-3c4cde9a49ca','local','terminal','terminal','c','council','active','2026-11-23 16:26:28.942189',NULL,'Which way should the caravan take in winter?','ana','2026-11-23 16:26:28.942189');
CREATE TABLE shelves (
	space VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	version BIGINT NOT NULL, 
	CONSTRAINT pk_shelves PRIMARY KEY (space, name)
);
CREATE TABLE slack_bots (
	id INTEGER NOT NULL, 
	client_id VARCHAR(32) NOT NULL, 
	app_id VARCHAR(32) NOT NULL, 
	enterprise_id VARCHAR(32), 
	enterprise_name VARCHAR(200), 
	team_id VARCHAR(32), 
	team_name VARCHAR(200), 
	bot_token VARCHAR(200), 
	bot_id VARCHAR(32), 
	bot_user_id VARCHAR(32), 
	bot_scopes VARCHAR(1000), 
	bot_refresh_token VARCHAR(200), 
	bot_token_expires_at DATETIME, 
	is_enterprise_install BOOLEAN NOT NULL, 
	installed_at DATETIME NOT NULL, 
	CONSTRAINT pk_slack_bots PRIMARY KEY (id)
);
CREATE TABLE slack_installations (
	id INTEGER NOT NULL, 
	client_id VARCHAR(32) NOT NULL, 
	app_id VARCHAR(32) NOT NULL, 
	enterprise_id VARCHAR(32), 
	enterprise_name VARCHAR(200), 
	enterprise_url VARCHAR(200), 
	team_id VARCHAR(32), 
	team_name VARCHAR(200), 
	bot_token VARCHAR(200), 
	bot_id VARCHAR(32), 
	bot_user_id VARCHAR(32), 
	bot_scopes VARCHAR(1000), 
	bot_refresh_token VARCHAR(200), 
	bot_token_expires_at DATETIME, 
	is_enterprise_install BOOLEAN NOT NULL, 
	installed_at DATETIME NOT NULL, 
	user_id VARCHAR(32) NOT NULL, 
	user_token VARCHAR(200), 
	user_scopes VARCHAR(1000), 
	user_refresh_token VARCHAR(200), 
	user_token_expires_at DATETIME, 
	incoming_webhook_url VARCHAR(200), 
	incoming_webhook_channel VARCHAR(200), 
	incoming_webhook_channel_id VARCHAR(200), 
	incoming_webhook_configuration_url VARCHAR(200), 
	token_type VARCHAR(32), 
	CONSTRAINT pk_slack_installations PRIMARY KEY (id)
);
CREATE TABLE slack_oauth_states (
	id INTEGER NOT NULL, 
	state VARCHAR(200) NOT NULL, 
	expire_at DATETIME NOT NULL, 
	CONSTRAINT pk_slack_oauth_states PRIMARY KEY (id)
);
CREATE TABLE texts (
	document_id VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_texts PRIMARY KEY (document_id), 
	CONSTRAINT fk_texts_documents FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE TABLE threads (
	space VARCHAR NOT NULL, 
	channel VARCHAR NOT NULL, 
	thread VARCHAR NOT NULL, 
	real VARCHAR NOT NULL, 
	free_chat BOOLEAN NOT NULL, 
	explained BOOLEAN NOT NULL, 
	CONSTRAINT pk_threads PRIMARY KEY (space, channel, thread), 
	CONSTRAINT uq_threads_space_real UNIQUE (space, real)
);
CREATE INDEX ix_documents_space_shelf_sha256 ON documents (space, shelf, sha256);
CREATE INDEX ix_inbox_state_seq ON inbox (state, seq);
CREATE INDEX ix_jobs_space_created_at ON jobs (space, created_at);
CREATE INDEX ix_ledger_space_created_at ON ledger (space, created_at);
CREATE INDEX ix_ledger_space_run_id ON ledger (space, run_id);
CREATE UNIQUE INDEX uq_sessions_active ON sessions (space, platform, channel, thread) WHERE state = 'active';
CREATE INDEX ix_sessions_space_author_id_updated_at ON sessions (space, author_id, updated_at);
CREATE INDEX ix_exchanges_space_run_id ON exchanges (space, run_id);
CREATE INDEX ix_outbox_space_message_id ON outbox (space, message_id);
CREATE INDEX ix_councils_space_created_at ON councils (space, created_at);
CREATE INDEX slack_bots_idx ON slack_bots (client_id, enterprise_id, team_id, installed_at);
CREATE INDEX slack_installations_idx ON slack_installations (client_id, enterprise_id, team_id, user_id, installed_at);
CREATE INDEX ix_pages_document_id_start ON pages (document_id, start);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('inbox',3);
COMMIT;
