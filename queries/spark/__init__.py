"""The same analyses and requests on Spark, over the Parquet files of `attnbank export`.

    from attnbank.queries.spark import open_export

    with open_export(session, "parquet") as exported:
        frame = exported.query("best_head", relation="obj")

`session` is a SparkSession that the caller has made, with whatever cluster it is of. Python or the
JVM of Spark is started only by what is called, never by importing this.
"""

from attnbank.queries.spark.exported import Exported, open_export

__all__ = ["Exported", "open_export"]
