-- What an hour of opening costs in wages, by café and week. Only hourly people:
-- managers are salaried and stand in the ledger, not here.
drop materialized view if exists staff_cost;

create materialized view staff_cost as
with hours as (
    select s.cafe,
           date_trunc('week', s.day)::date               as week,
           sum(s.paid_quarters) / 4.0                    as hours,
           sum(s.night_quarters) / 4.0                   as night_hours,
           -- The rate of the day of the shift: April's rise must not reach back into March.
           sum(round(s.paid_quarters * r.pence_an_hour / 4.0))            as base_pence,
           sum(round(s.night_quarters * 110 / 4.0))      as night_pence
    from fact_shift s
    join dim_person p on p.employee = s.employee
    join dim_rate r on r.grade = p.grade and s.day between r.valid_from and r.valid_to
    where p.grade in ('barista', 'senior barista', 'shift lead')
    group by s.cafe, date_trunc('week', s.day)
),
takings as (
    select cafe, date_trunc('week', day)::date           as week,
           sum(takings_pence)                            as takings_pence,
           sum(orders)                                   as order_lines
    from daily_sales
    group by cafe, date_trunc('week', day)
),
opening as (
    select cafe, date_trunc('week', day)::date           as week,
           sum(open_minutes) / 60.0                      as open_hours
    from dim_day
    group by cafe, date_trunc('week', day)
)
select h.cafe,
       h.week,
       h.hours,
       h.night_hours,
       h.base_pence + h.night_pence                      as wage_pence,
       -- Employer's pension and insurance, as agreed with the finance team for planning.
       round((h.base_pence + h.night_pence) * 1.138)     as cost_pence,
       o.open_hours,
       round(h.hours / nullif(o.open_hours, 0), 2)       as people_present,
       round(100.0 * (h.base_pence + h.night_pence) / nullif(t.takings_pence, 0), 1) as wage_percent,
       -- Oscar Lindgren looks at a café when this stays red for three weeks running.
       100.0 * (h.base_pence + h.night_pence) > 36 * t.takings_pence      as red
from hours h
join opening o using (cafe, week)
left join takings t using (cafe, week);

create unique index staff_cost_key on staff_cost (cafe, week);
grant select on staff_cost to warehouse_reader;
