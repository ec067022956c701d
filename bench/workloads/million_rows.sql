-- A million rows in memory, an index over them, grouped and sorted: what an application does with SQLite, at scale.
CREATE TABLE parcel(id INTEGER PRIMARY KEY, name TEXT, net INTEGER, tare INTEGER);
WITH RECURSIVE counter(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter WHERE n < 1000000)
  INSERT INTO parcel SELECT n, 'parcel ' || (n * 7919 % 100003), n * 31 % 4096, n * 17 % 64 FROM counter;
CREATE INDEX parcel_name ON parcel(name, net);
SELECT count(*), sum(net), max(total) FROM (SELECT name, sum(net + tare) AS net, count(*) AS total FROM parcel GROUP BY name);
SELECT max(length(names)) FROM (SELECT group_concat(name, ';') AS names FROM parcel GROUP BY tare);
SELECT upper(substr(name, 8)) AS short, avg(net) FROM parcel GROUP BY short ORDER BY avg(net) DESC LIMIT 3;
