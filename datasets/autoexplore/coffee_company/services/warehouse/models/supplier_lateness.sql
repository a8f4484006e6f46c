-- How late and how short suppliers deliver, by half year. Feeds the scorecards;
-- the remarks there are people's, the figures come from here.
drop materialized view if exists supplier_lateness;

create materialized view supplier_lateness as
with deliveries as (
    select f.supplier,
           date_trunc('year', f.promised)
               + case when extract(month from f.promised) > 6 then interval '6 months' else interval '0' end
                                                         as half_year,
           f.delivery_note,
           min(f.promised)                               as promised,
           -- A note may come in parts; it is late until the last part is here.
           max(f.arrived)                                as arrived,
           sum(f.ordered)                                as ordered,
           sum(least(f.counted, f.ordered))              as useful,
           bool_or(f.refused_warm)                       as refused_warm
    from fact_delivery f
    -- Water filters and machine parts come with a technician, there is no promise to keep.
    where f.supplier not in ('SUP-12', 'SUP-15')
    group by 1, 2, 3
),
judged as (
    select d.*,
           s.lead_time_days,
           arrived::date - promised::date                as days_late,
           case
               -- The bakery is judged by the minute, the dairy by the quarter of an hour,
               when supplier = 'SUP-09' then arrived > promised + interval '20 minutes'
               when supplier = 'SUP-07' then arrived > promised + interval '45 minutes'
               -- green coffee by the week (ships wait for berths), everybody else by the day.
               when supplier <= 'SUP-06' then arrived::date > promised::date + 7
               else arrived::date > promised::date
           end                                           as late
    from deliveries d
    join dim_supplier s on s.id = d.supplier
)
select supplier,
       half_year::date                                   as half_year,
       count(*)                                          as deliveries,
       count(*) filter (where late)                      as late_deliveries,
       round(100.0 * count(*) filter (where late) / count(*), 1)      as late_percent,
       max(days_late)                                    as worst_days,
       round(100.0 * sum(useful) / nullif(sum(ordered), 0), 1)        as filled_percent,
       count(*) filter (where refused_warm)              as refused_warm,
       -- One figure for the meeting: on time counts twice as much as complete.
       round((2 * (100 - 100.0 * count(*) filter (where late) / count(*))
              + 100.0 * sum(useful) / nullif(sum(ordered), 0)) / 3, 0) as score
from judged
group by supplier, half_year
having count(*) >= 2;

create unique index supplier_lateness_key on supplier_lateness (supplier, half_year);
grant select on supplier_lateness to warehouse_reader;
