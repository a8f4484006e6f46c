-- Sales by day, café and product, in whole pence with VAT. The morning mail, the
-- dashboard "Morning" and the forecast read this and nothing else.
--
-- A receipt belongs to the day on which the guest stood at the counter, even if
-- the till sent it the next morning.
drop materialized view if exists daily_sales;

create materialized view daily_sales as
with sold as (
    select l.day,
           l.cafe,
           l.sku,
           count(distinct l.order_id)            as orders,
           sum(l.quantity)                       as units,
           sum(l.quantity * l.unit_pence)        as list_pence,
           sum(l.modifier_pence)                 as modifier_pence,
           sum(l.discount_share_pence)           as discount_pence
    from fact_line l
    -- Free tenth drinks are units without money; goodwill drinks too.
    where l.cafe <> 'C99'
    group by l.day, l.cafe, l.sku
),
returned as (
    -- A refund lowers the day on which it was paid, not the day of the sale:
    -- months that finance has closed must not change any more.
    select r.day, r.cafe, r.sku, sum(r.amount_pence) as refund_pence
    from fact_refund r
    group by r.day, r.cafe, r.sku
)
select coalesce(s.day, r.day)                    as day,
       coalesce(s.cafe, r.cafe)                  as cafe,
       coalesce(s.sku, r.sku)                    as sku,
       coalesce(s.orders, 0)                     as orders,
       coalesce(s.units, 0)                      as units,
       coalesce(s.list_pence + s.modifier_pence - s.discount_pence, 0)
           - coalesce(r.refund_pence, 0)         as takings_pence,
       coalesce(s.discount_pence, 0)             as discount_pence,
       coalesce(r.refund_pence, 0)               as refund_pence,
       extract(isodow from coalesce(s.day, r.day))::int as weekday,
       d.open_minutes
from sold s
full join returned r using (day, cafe, sku)
join dim_day d on d.day = coalesce(s.day, r.day) and d.cafe = coalesce(s.cafe, r.cafe);

-- Needed for "refresh … concurrently".
create unique index daily_sales_key on daily_sales (day, cafe, sku);
create index daily_sales_sku on daily_sales (sku, day);

comment on column daily_sales.open_minutes is
    'minutes the café was open on that day, short days of storms included; C09 has 900';
grant select on daily_sales to warehouse_reader;
