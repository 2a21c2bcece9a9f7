"""`attnbank annotate`, and `use`, `delete`, `upgrade`, `export`, `import`, `merge` and `fetch`."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from attnbank.cli.guarded import command, run_guarded
from attnbank.cli.options import (
    BankCommand,
    Decorator,
    bank_path,
    command_prefix,
    complete_names,
    open_named_bank,
    option,
    quiet_option,
    run_option,
    shared_value,
)
from attnbank.cli.output import (
    count_noun,
    format_bytes,
    output_options,
    provenance_option,
    provenance_text,
    record_runs,
    write_frame,
)
from attnbank.cli.progress import ProgressDisplay
from attnbank.cli.safe_echo import is_quiet, notify, safe_echo
from attnbank.sql.errors import CallError

if TYPE_CHECKING:
    from attnbank.ingest.store.annotations import Annotated
    from attnbank.ingest.store.deleting import Deletion

_partial_option = option(
    "--partial",
    "Merge shards even if some are missing; the corpus then records which ones it has.",
    False,
)


def _also_option(kind: str, several: str) -> Decorator:
    text = f"Also delete this {kind}, by name or id; no other run may use it. Can be repeated."
    return option(f"--{kind} {several}", text, multiple=True, metavar="NAME")


@command("annotate", "reading_times.csv")
@click.argument("file", type=click.Path(path_type=Path))
@option("--name", "Name of the table. Default: the name of the file.", metavar="TABLE")
@option(
    "--corpus",
    "Corpus of the sentences, if several corpora have sentences of these names.",
    shell_complete=complete_names("corpus"),
)
@option("--replace", "Replace your table of this name.", False)
@option("--skip-bad", "Skip rows that match no word of the bank, and count them.", False)
@quiet_option()
def annotate(ctx: click.Context, file: Path, **options: Any) -> None:
    """Add columns of your own for each word: reading times, ratings, any measure.

    FILE is CSV, TSV, Parquet or JSON. It names each word by sent_id and index (its 1-based
    position in the sentence; also word_index or id), within a document if it has that column;
    or by word, the id in table word. A column form is checked against the text. All other
    columns become a table of the bank, to be joined with word. A word may have several rows.
    """
    from attnbank.ingest import annotate

    path = bank_path(ctx)
    annotated = annotate(path, file, **options)
    notify(
        *_describe_annotated(annotated),
        f"Next: {command_prefix(path)} sql {quote(_example_select(annotated))}",
    )


def _describe_annotated(annotated: Annotated) -> list[str]:
    columns = ", ".join(f"{name} ({type_.lower()})" for name, type_ in annotated.columns.items())
    rows, words = count_noun(annotated.rows, "row"), count_noun(annotated.words, "word")
    lines = [f"{annotated.name} has {rows} for {words}: {columns}."]
    if annotated.repeated:
        have = "have" if annotated.repeated > 1 else "has"
        lines.append(
            f"{count_noun(annotated.repeated, 'word')} {have} several rows, up to"
            f" {annotated.most:,}."
        )
    lines += [
        f"Skipped: {count_noun(n, 'row')} {reason}." for reason, n in annotated.left_out.items()
    ]
    lines += [
        f"Column {name} refers to the bank: deleting its {name} deletes a row too."
        for name in annotated.references
    ]
    return lines


def _example_select(annotated: Annotated) -> str:
    """An example SELECT that shows the first column of a new table beside the words."""
    from attnbank.sql.names import quoted

    name = next(iter(annotated.columns))
    column = name if name.replace("_", "a").isalnum() and name.isascii() else quoted(name)
    return (
        f"select word.form, {annotated.name}.{column} from {annotated.name}"
        f" inner join word on word.id = {annotated.name}.word limit 10"
    )


@command("use", "gum-dev/minilm")
@click.argument("run", required=False, shell_complete=complete_names("run"))
@option("--none forgets", "Clear the default: analyses use the newest suitable run again.", False)
@output_options
def use(ctx: click.Context, run: str | None, forgets: bool) -> None:
    """Set the default run, or list the runs.

    RUN is the name or the id of a finished run of trained weights. The bank has one default run
    for each context and unit (sentence/word, pair/token). An analysis uses it if it is
    suitable, else the newest suitable run. Without RUN, list the runs, and whether each can be
    used when no run is named (column unasked).
    """
    from attnbank.ingest.store.deleting import set_default_run, unset_default_runs

    if run is not None and forgets:
        raise CallError("RUN and --none are mutually exclusive.", "Give one of them.")
    if forgets:
        unset_default_runs(bank_path(ctx))
        notify("There is no default run now; analyses use the newest suitable run.")
    elif run is not None:
        notify(f"{set_default_run(bank_path(ctx), run)} is now the default run.")
    else:
        with open_named_bank(ctx) as bank:
            frame = bank.choices()
        write_frame(ctx, frame, wraps=True)


@command("delete", "wsj-dev/bert-base-uncased --corpus wsj-dev", cls=BankCommand)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_names("run"))
@_also_option("corpus", "corpora")
@_also_option("model", "models")
@option("--dry-run", "Print what would be deleted, and stop.", False)
@option("-y --yes", "Do not ask for confirmation.", False)
@quiet_option("Print only errors; do not ask for confirmation.")
def delete(ctx: click.Context, /, dry_run: bool, yes: bool, **names: Any) -> None:
    """Delete runs, by name or id, and free their space.

    What was computed from a run is deleted with it, and so are the probes that were trained or
    scored on it. Its corpus and its model stay, unless they are named too.
    """
    from attnbank.ingest.store.deleting import delete

    if not any(names.values()):
        raise click.UsageError("Name a run, or give --corpus or --model.", ctx)
    path = bank_path(ctx)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not (yes or is_quiet())
    if dry_run or asks:
        deletion = delete(path, **names, dry_run=True)
        _print_deletion(deletion, "Would delete" if dry_run else "Will delete")
        if dry_run:
            return
        click.confirm("Delete all of this?", abort=True, err=True)
    deletion = delete(path, **names)
    if not (asks or is_quiet()):
        _print_deletion(deletion, "Deleted")
    notify(
        f"{path} is now {format_bytes(path.stat().st_size)},"
        f" {format_bytes(max(deletion.freed, 0))} smaller",
        *(
            f"No run uses the {kind} {name} any more; to delete it:"
            f" attnbank delete --{kind} {quote(name)}"
            for kind, name in deletion.unused
        ),
    )


def _print_deletion(deletion: Deletion, what: str) -> None:
    parts = {
        "run": deletion.runs,
        "corpus": deletion.corpora,
        "model": deletion.models,
        "probe": deletion.probes,
    }
    safe_echo(
        *(f"{what}: the {kind} {name}" for kind, names in parts.items() for name in names),
        f"Rows: {', '.join(f'{table} {rows:,}' for table, rows in deletion.rows.items())}",
        err=True,
    )


@command("upgrade", "-b old.duckdb", cls=BankCommand)
@quiet_option()
def upgrade(ctx: click.Context) -> None:
    """Bring the analyses in a bank up to this version's.

    Replaces its functions, views and analyses by this version's, and keeps all rows. Either all of
    it is done or nothing. Commands that write to a bank do so, too.
    """
    from attnbank.sql.bank.opening import upgrade

    path = bank_path(ctx)
    if upgrade(path):
        notify(f"The views and analyses of {path} are now those of this version")
    else:
        notify(f"{path} is already up to date")


@command("export", "parquet/")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@run_option("Export only this run, by name or id.", metavar="NAME")
@option("--force", "Replace an earlier export in DIR; other files in it stay.", False)
@provenance_option
@quiet_option()
def export(ctx: click.Context, folder: Path, run: str | None, force: bool) -> None:
    """Write the bank as Parquet files, which `import` makes into a bank again.

    Large tables are partitioned by run (attention/run=1/...), the others are one file each. The
    folder also gets a manifest, and the SQL that makes a bank of the files in the DuckDB shell.
    """
    from attnbank.sql.export_format import check_export, export

    check_export(folder, bank_path(ctx), force=force)
    with open_named_bank(ctx) as bank:
        record_runs(ctx, bank, run)
        written = export(bank.path, folder, run=run, force=force, origin=provenance_text(ctx))
    total = format_bytes(sum(file.stat().st_size for file in written))
    notify(
        f"Wrote {len(written):,} files, {total}, to {folder}.",
        f"To make a bank of it again: attnbank -b new.duckdb import {quote(str(folder))}",
    )


@command("import", "parquet/ -b copy.duckdb", takes_banks=True)
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path())
@_partial_option
@quiet_option()
def import_(ctx: click.Context, folders: tuple[str, ...], partial: bool) -> None:
    """Make a new bank from folders that `export` wrote.

    Every file is checked against the manifest of its export: if one is missing, truncated or
    changed, no bank is made. No SQL from the folders is run. Several folders are merged as by
    `merge`, which also takes banks.
    """
    from attnbank.ingest import import_exports

    bank = bank_path(ctx)
    report = import_exports(folders, bank, partial=partial)
    rows = sum(report.rows.values())
    notify(
        *report.notes,
        f"{bank} has {rows:,} rows in {len(report.rows):,} tables,"
        f" {format_bytes(bank.stat().st_size)}.",
        f"Next: {command_prefix(bank)} info",
    )


@command("merge", "shard-*.duckdb -b whole.duckdb", cls=BankCommand, takes_banks=True)
@click.argument("banks", metavar="BANK...", nargs=-1, required=True, type=click.Path())
@_partial_option
@quiet_option()
def merge(ctx: click.Context, banks: tuple[str, ...], partial: bool) -> None:
    """Merge several banks, such as the shards of a run, into a new one.

    The same corpus, model and run are recognised by their digests and options, whatever their
    names, and stored once; the shards of a run become that run. Corpora, models and runs are
    numbered in the order of the banks. The banks are not changed. BANK can also be a folder
    that `export` wrote. Without -b the first argument is the new bank, which must not exist:
    attnbank merge OUT BANK...
    """
    bank = shared_value(ctx, "bank")
    out = Path(banks[0] if bank is None else bank).expanduser()
    sources = banks[1:] if bank is None else banks
    if bank is None and out.exists() and (out.is_dir() or out.stat().st_size):
        raise CallError(
            f"Without -b the first argument is the new bank, and {banks[0]} already exists.",
            f"Name the new bank: attnbank merge {' '.join(map(quote, banks))} -b OUT",
        )

    ctx.meta["attnbank.bank"] = str(out)

    def merge_banks() -> None:
        from attnbank.ingest import merge_banks

        report = merge_banks(out, sources, partial=partial)
        runs = report.rows["run"]
        notify(
            *report.notes,
            f"{out} has {runs:,} run{'s' * (runs != 1)}, {report.rows['word']:,} words,"
            f" {format_bytes(out.stat().st_size)}.",
            f"Next: {command_prefix(out)} info",
        )

    run_guarded(ctx, merge_banks, path=Path(", ".join(sources)))


@command("fetch", "https://HOST/gum/bank.duckdb gum.duckdb", cls=BankCommand, takes_banks=True)
@click.argument("url")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@quiet_option()
def fetch(ctx: click.Context, url: str, file: Path | None) -> None:
    """Download a published bank.

    FILE (or -b) is by default the file name in the address. To resume an interrupted download,
    type the same command again. The file is compared with the digest that `publish` wrote.
    """
    from attnbank.ingest.progress import Progress
    from attnbank.sql.bank.fetching import fetch, file_of

    output = file or shared_value(ctx, "bank")
    target = file_of(url) if output is None else Path(output).expanduser()
    with ProgressDisplay() as display:

        def on_bytes(done: int, total: int | None) -> None:
            millions = None if total is None else max(1, total // 10**6)
            display(Progress("fetching", min(done // 10**6, millions or done), millions))

        digest = fetch(url, target, on_bytes)
    verified = (
        "no digest was published to check it with"
        if digest is None
        else "its SHA-256 matches the published one"
    )
    notify(
        f"Downloaded {target} ({format_bytes(target.stat().st_size)}); {verified}.",
        f"Next: {command_prefix(target)} info",
    )
