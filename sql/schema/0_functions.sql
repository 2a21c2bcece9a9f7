-- Functions that the analyses share. The text of each is one expression.

create or replace macro wilson_low(correct, n) as greatest(
    cast(0 as double),
    (
        cast(correct as double) / n
        + cast(1.9207294103470 as double) / n
        - cast(1.9599639845401 as double) * sqrt(
            cast(correct as double) / n * (1 - cast(correct as double) / n) / n
            + cast(0.9603647051735 as double) / (cast(n as double) * n)
        )
    ) / (1 + cast(3.8414588206941 as double) / n)
);
comment on macro wilson_low is 'Lower end of the 95 % Wilson interval of the share correct / n.';

create or replace macro wilson_high(correct, n) as least(
    cast(1 as double),
    (
        cast(correct as double) / n
        + cast(1.9207294103470 as double) / n
        + cast(1.9599639845401 as double) * sqrt(
            cast(correct as double) / n * (1 - cast(correct as double) / n) / n
            + cast(0.9603647051735 as double) / (cast(n as double) * n)
        )
    ) / (1 + cast(3.8414588206941 as double) / n)
);
comment on macro wilson_high is 'Upper end of the 95 % Wilson interval of the share correct / n.';
