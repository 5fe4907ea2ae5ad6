-- The words of questions and answers. Rows are put in and taken out by the program, not by triggers, so that a
-- SQLite without FTS5 can still keep questions; those it kept are put in when one with FTS5 opens the file.
CREATE VIRTUAL TABLE questions_search USING fts5 (
    question,
    answer,
    content = 'questions',
    content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 2'
);
