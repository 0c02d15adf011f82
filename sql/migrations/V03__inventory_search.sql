-- What the collection of managed objects is searched by (I-07, I-08): words of texts, values inside fragments, names,
-- timestamps inside fragments.

-- The words an object is found by: those of its type, name and owner and of its top-level texts, in lower case.
--
-- Not by the database's locale: an index must not change with a system's C library, and the private PostgreSQL runs in the C
-- locale, which knows no letters but those of ASCII. Here everything beyond ASCII is a letter, and Latin, Greek and
-- Cyrillic capitals have small ones. Words are cut and their number is bounded, so that no text can be too large for the
-- index. It calls nothing of ours by name: a restore of a dump runs it without a search path.
CREATE FUNCTION object_words(type text, name text, owner text, fragments jsonb) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    texts text;
    words text[];
BEGIN
    SELECT string_agg(left(member.value #>> '{}', 4096), ' ') INTO texts
    FROM jsonb_each(fragments) AS member
    WHERE jsonb_typeof(member.value) = 'string';
    texts := lower(left(concat_ws(' ', type, name, owner, texts), 16384) COLLATE "C");
    IF octet_length(texts) <> char_length(texts) THEN
        texts := translate(
            texts,
            'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ',
            'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюя');
    END IF;
    words := array_remove(regexp_split_to_array(texts, '[^0-9a-z\u0080-\U0010FFFF]+'), '');
    IF char_length(texts) > 64 THEN
        words := ARRAY(SELECT left(word, 64) FROM unnest(words[1:1000]) AS word);
    END IF;
    RETURN array_to_tsvector(words);
END
$$;

-- What finds the objects that have, for each word of a text, a word that starts with it. Null without any word.
CREATE FUNCTION search_prefixes(of_text text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    -- A word holds no quote.
    RETURN (
        SELECT string_agg('''' || word || ''':*', ' & ')::tsquery
        FROM unnest(tsvector_to_array(object_words(of_text, NULL, NULL, '{}'))) AS word
    );

-- The instant a JSON text tells, in the form every timestamp has; null where it tells none, never an error.
CREATE FUNCTION instant_of(value jsonb) RETURNS timestamptz
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    parts text[];
    year int;
    month int;
    day int;
    hours int;
    minutes int;
BEGIN
    IF jsonb_typeof(value) <> 'string' THEN
        RETURN NULL;
    END IF;
    parts := regexp_match(
        value #>> '{}',
        '^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(\.[0-9]{1,9})?'
            || '(?:[Zz]|([-+ ])([0-9]{2}):?([0-5][0-9]))$');
    IF parts IS NULL THEN
        RETURN NULL;
    END IF;
    year := parts[1];
    month := parts[2];
    day := parts[3];
    hours := coalesce(parts[9]::int, 0);
    minutes := coalesce(parts[10]::int, 0);
    IF year < 1970 OR month NOT BETWEEN 1 AND 12 OR day < 1 OR hours * 60 + minutes > 840 THEN
        RETURN NULL;
    END IF;
    IF day > extract(day FROM make_date(year, month, 1) + interval '1 month' - interval '1 day') THEN
        RETURN NULL;
    END IF;
    RETURN make_timestamptz(
            year, month, day, parts[4]::int, parts[5]::int,
            (parts[6] || coalesce(left(parts[7], 7), ''))::double precision, 'UTC')
        - make_interval(hours => hours, mins => minutes) * CASE parts[8] WHEN '-' THEN -1 ELSE 1 END;
END
$$;

ALTER TABLE managed_objects
    -- Stored, so that a walk through the collection can look at it without taking every text apart.
    ADD COLUMN words tsvector NOT NULL GENERATED ALWAYS AS (object_words(type, name, owner, fragments)) STORED;

CREATE INDEX managed_objects_by_word ON managed_objects USING gin (words);
-- Finds values by their paths: `fragments @? '$.plat_Hardware.model ? (@ == "RX1")'`.
CREATE INDEX managed_objects_by_value ON managed_objects USING gin (fragments jsonb_path_ops);
-- Names compare byte by byte, as texts inside fragments do; so this serves prefixes too.
CREATE INDEX managed_objects_by_name ON managed_objects (tenant, name COLLATE "C", id);

-- Rare fragments and types must be known as rare.
ALTER TABLE managed_objects
    ALTER COLUMN fragment_names SET STATISTICS 500,
    ALTER COLUMN words SET STATISTICS 500,
    ALTER COLUMN type SET STATISTICS 500;
