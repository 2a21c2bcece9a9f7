"""`attnbank annotate`, and `use`, `delete`, `upgrade`, `export`, `import` and `merge`."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli.exit_status import command, guarded
from attnbank.cli.humanize import count_noun, format_bytes
from attnbank.cli.options import (
    BankCommand,
    Decorator,
    bank_path,
    complete_names,
    corpus_option,
    open_named_bank,
    option,
    quiet_option,
    remembered,
    run_option,
    typed_for,
)
from attnbank.cli.output import (
    output_options,
    provenance_option,
    provenance_text,
    record_runs,
    write_frame,
)
from attnbank.cli.safe_echo import is_quiet, notify, safe_echo
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from attnbank.ingest.store.annotations import Annotated
    from attnbank.ingest.store.deleting import Deletion

_partial_option = option(
    "--partial",
    "Merge shards although some are missing; the corpus then says which ones it has.",
    False,
)


def _also_option(kind: str, several: str) -> Decorator:
    text = f"Delete this {kind} too, by name or id; no other run may use it. May be given again."
    return option(f"--{kind} {several}", text, multiple=True, metavar="NAME")


@command("annotate", "reading_times.csv")
@click.argument("file", type=click.Path(path_type=Path))
@option("--name", "The name of the table. Otherwise that of the file.", metavar="TABLE")
@corpus_option("The corpus whose sentences are meant, if several have one name.")
@option("--replace", "Replace a table of yours that has the name.", False)
@option("--skip-bad", "Leave out rows that fit no word of the bank, and say how many.", False)
@quiet_option()
def annotate(ctx: click.Context, file: Path, **options: Any) -> None:
    """Keep columns of your own for each word: reading times, ratings, any measure.

    FILE is CSV, TSV, Parquet or JSON. It names each word by sent_id and index (its 1-based place in
    the sentence; also word_index or id), within a document if it has that column; or by word, the
    id of the table word. A column form is checked against the text. All other columns become a
    table of the bank, which joins with word. A word may have several rows.
    """
    from attnbank.ingest import annotate

    path = bank_path(ctx)
    done = annotate(path, file, **options)
    notify(*_describe_annotated(done), f"Next: {typed_for(path)} sql {quote(_join(done))}")


def _describe_annotated(done: Annotated) -> list[str]:
    columns = ", ".join(f"{name} ({type_.lower()})" for name, type_ in done.columns.items())
    rows, words = count_noun(done.rows, "row"), count_noun(done.words, "word")
    told = [f"{done.name} has {rows} for {words}: {columns}."]
    if done.repeated:
        have = "have" if done.repeated > 1 else "has"
        told.append(
            f"{count_noun(done.repeated, 'word')} {have} several rows, up to {done.most:,}."
        )
    told += [f"Left out: {count_noun(n, 'row')} {reason}." for reason, n in done.left_out.items()]
    told += [
        f"The values of {name} are those of the bank: a row goes where its {name} is deleted."
        for name in done.references
    ]
    return told


def _join(done: Annotated) -> str:
    """A SELECT that puts the first column of a new table beside the forms of the words."""
    from attnbank.sql.quoting import quoted

    name = next(iter(done.columns))
    column = name if name.replace("_", "a").isalnum() and name.isascii() else quoted(name)
    return (
        f"select word.form, {done.name}.{column} from {done.name}"
        f" inner join word on word.id = {done.name}.word limit 10"
    )


@command("use", "gum-dev/minilm")
@click.argument("run", required=False, shell_complete=complete_names("run"))
@option("--none forgets", "Let the newest run that fits answer again.", False)
@output_options
def use(ctx: click.Context, run: str | None, forgets: bool) -> None:
    """Choose the run that answers if none is named, or list the runs.

    RUN is the name or the number of a finished run of trained weights. The bank keeps one choice
    for each context and unit (sentence/word, pair/token). An analysis takes it if it fits, and
    otherwise the newest run that fits. Without RUN, list the runs, and whether each may answer if
    none is named (column unasked).
    """
    from attnbank.ingest.store.preferences import prefer, prefer_none

    if run is not None and forgets:
        raise CallError("RUN and --none are mutually exclusive.", "Give one of them.")
    if forgets:
        prefer_none(bank_path(ctx))
        notify("No run is the default now; the newest suitable run answers.")
    elif run is not None:
        notify(f"{prefer(bank_path(ctx), run)} is now the default run.")
    else:
        with open_named_bank(ctx) as bank:
            frame = bank.choices()
        write_frame(ctx, frame, wraps=True)


@command("delete", "wsj-dev/bert-base-uncased --corpus wsj-dev", cls=BankCommand)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_names("run"))
@_also_option("corpus", "corpora")
@_also_option("model", "models")
@option("--dry-run", "Print what would go, and stop there.", False)
@option("-y --yes", "Do not ask for confirmation.", False)
@quiet_option("Print nothing but errors; do not ask for confirmation.")
def delete(ctx: click.Context, /, dry_run: bool, yes: bool, **named: Any) -> None:
    """Delete runs, by name or id, and free the space that they take.

    What was computed from a run goes with it, and so do the probes that learnt from it or were
    scored on it. Its corpus and its model stay, unless they are named too.
    """
    from attnbank.ingest.store.deleting import delete

    if not any(named.values()):
        raise click.UsageError("Name a run, or give --corpus or --model.", ctx)
    path = bank_path(ctx)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not (yes or is_quiet())
    if dry_run or asks:
        found = delete(path, **named, dry_run=True)
        _print_deletion(found, "Would delete" if dry_run else "Will delete")
        if dry_run:
            return
        click.confirm("Delete all of this?", abort=True, err=True)
    done = delete(path, **named)
    if not (asks or is_quiet()):
        _print_deletion(done, "Deleted")
    notify(
        f"{path} is now {format_bytes(path.stat().st_size)}, {format_bytes(max(done.freed, 0))} smaller",
        *(
            f"No run uses the {kind} {name} any more; to delete it:"
            f" attnbank delete --{kind} {quote(name)}"
            for kind, name in done.unused
        ),
    )


def _print_deletion(found: Deletion, what: str) -> None:
    parts = {
        "run": found.runs,
        "corpus": found.corpora,
        "model": found.models,
        "probe": found.probes,
    }
    safe_echo(
        *(f"{what}: the {kind} {name}" for kind, those in parts.items() for name in those),
        f"Rows: {', '.join(f'{table} {rows:,}' for table, rows in found.rows.items())}",
        err=True,
    )


@command("upgrade", "-b old.duckdb", cls=BankCommand)
@quiet_option()
def upgrade(ctx: click.Context) -> None:
    """Bring a bank that an earlier attnbank wrote up to date.

    Its tables get the columns that this version's have, its analyses become this version's, and
    its rows stay. All of it or nothing is done. An earlier attnbank cannot read the bank
    afterwards: keep a copy if you need that.
    """
    from attnbank.sql.bank.opening import upgrade

    path = bank_path(ctx)
    done = upgrade(path)
    if not done.changed:
        notify(f"{path} is already up to date (format {done.after})")
        return
    if done.before != done.after:
        notify(f"Upgraded {path} from format {done.before} to {done.after}")
    if done.added:
        notify(f"Added: {', '.join(done.added)}")
    if done.analyses:
        notify("Its views and analyses are now those of this version")


@command("export", "parquet/")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@run_option("Export only this run, by name or id.", metavar="NAME")
@option("--force", "Replace an earlier export in DIR; other files there stay.", False)
@provenance_option
@quiet_option()
def export(ctx: click.Context, folder: Path, run: str | None, force: bool) -> None:
    """Write the bank as Parquet files, of which `import` makes a bank again.

    The big tables are divided by run (attention/run=1/...), the others are a file each. With them
    go a manifest, and the SQL that makes a bank of them in the DuckDB shell.
    """
    from attnbank.queries.export import check_export, export

    check_export(folder, bank_path(ctx), force=force)
    with open_named_bank(ctx) as bank:
        record_runs(ctx, bank, run)
        written = export(bank, folder, run=run, force=force, origin=provenance_text(ctx))
    total = format_bytes(sum(each.stat().st_size for each in written))
    notify(
        f"Wrote {len(written):,} files, {total}, to {folder}.",
        f"To make a bank of it again: attnbank -b new.duckdb import {quote(str(folder))}",
    )


@command("import", "parquet/ -b copy.duckdb", takes_banks=True)
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path())
@_partial_option
@quiet_option()
def import_(ctx: click.Context, folders: tuple[str, ...], partial: bool) -> None:
    """Make a new bank of a folder that `export` wrote, or of several.

    Every file is checked against the manifest of the export: what is missing, cut off or changed
    is said, and then no bank is made. Of the folder no SQL is run. Several become one as with
    `merge`, which takes banks, too.
    """
    from attnbank.ingest import import_exports

    bank = bank_path(ctx)
    done = import_exports(folders, bank, partial=partial)
    rows = sum(done.rows.values())
    notify(
        *done.notes,
        f"{bank} has {rows:,} rows in {len(done.rows):,} tables, {format_bytes(bank.stat().st_size)}.",
        f"Next: {typed_for(bank)} info",
    )


@command("merge", "shard-*.duckdb -b whole.duckdb", cls=BankCommand, takes_banks=True)
@click.argument("banks", metavar="BANK...", nargs=-1, required=True, type=click.Path())
@_partial_option
@quiet_option()
def merge(ctx: click.Context, banks: tuple[str, ...], partial: bool) -> None:
    """Make a new bank of several, of shards of one run, say.

    The same corpus, model and run are recognised by their digests and options, whatever they are
    called, and are there once; the shards of a run become that run. All ids are given anew, in the
    order of the text. The banks stay as they are. Folders that `export` wrote may stand among them.
    Without -b the first argument is the new bank, which must not exist: attnbank merge OUT BANK...
    """
    named = remembered(ctx, "bank")
    out = Path(banks[0] if named is None else named).expanduser()
    sources = banks[1:] if named is None else banks
    if named is None and out.exists() and (out.is_dir() or out.stat().st_size):
        raise CallError(
            f"Without -b the first argument is the new bank, and {banks[0]} already exists.",
            f"Name the new bank: attnbank merge {' '.join(map(quote, banks))} -b OUT",
        )

    ctx.meta["attnbank.bank"] = str(out)

    def merge_banks() -> None:
        from attnbank.ingest import merge_banks

        done = merge_banks(out, sources, partial=partial)
        runs = done.rows["run"]
        notify(
            *done.notes,
            f"{out} has {runs:,} run{'s' * (runs != 1)}, {done.rows['word']:,} words,"
            f" {format_bytes(out.stat().st_size)}.",
            f"Next: {typed_for(out)} info",
        )

    guarded(ctx, merge_banks, path=Path(", ".join(sources)))
