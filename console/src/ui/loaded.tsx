// The one way in which pages show what they load: its standing, why there is nothing, and otherwise the content.

import type { ComponentChildren } from "preact";
import type { List } from "../list";
import type { Loaded } from "../load";
import { Exports } from "./export";
import { Button, Card, Page } from "./kit";
import { ListStanding, MoreRows, Standing } from "./standing";
import { type Column, VirtualTable } from "./table";

interface StatesProps<T> {
  of: Loaded<T>;
  isEmpty?: (data: T) => boolean;
  /** What to show, and to do, where there is nothing. */
  empty?: ComponentChildren;
  children: (data: T) => ComponentChildren;
}

/** What a list shows instead of rows: that it loads, why it failed, or that it is empty and what to do. */
export function States<T>(props: StatesProps<T>) {
  const { data, error, isOld, reload } = props.of;
  // Whether other filters gave no rows says nothing about the present ones.
  const isUnknown = data.value === undefined || (isOld.value && props.isEmpty?.(data.value));
  const shown = isUnknown ? undefined : data.value;
  return (
    <>
      {error.value && (
        <div class="state error" role="alert">
          <p>{error.value.message}</p>
          <Button onClick={reload}>Try again</Button>
        </div>
      )}
      {shown === undefined && !error.value && (
        <div class="state" aria-busy="true">
          <span class="skeleton" />
          <span class="skeleton" />
          <span class="skeleton" />
          <span class="hidden">Loading</span>
        </div>
      )}
      {shown !== undefined &&
        (props.isEmpty?.(shown) ? (
          <div class="state">{props.empty ?? <p>There is nothing yet.</p>}</div>
        ) : (
          props.children(shown)
        ))}
    </>
  );
}

interface CardProps {
  title: ComponentChildren;
  class?: string;
  /** The seconds after which the page reads the data again. */
  every?: number;
  /** The content beside the title, after the standing. */
  actions?: ComponentChildren;
  /** The content below what is loaded. */
  below?: ComponentChildren;
}

/** A card of something that is loaded. `about` is a remark beside its standing. */
export function LoadedCard<T>(props: CardProps & StatesProps<T> & { about?: ComponentChildren }) {
  return (
    <Card
      class={props.class}
      title={props.title}
      aside={
        <>
          {props.about && <span class="faint">{props.about}</span>}
          <Standing of={props.of} every={props.every} />
          {props.actions}
        </>
      }>
      <States of={props.of} isEmpty={props.isEmpty} empty={props.empty}>
        {props.children}
      </States>
      {props.below}
    </Card>
  );
}

interface ListProps<T> {
  of: List<T>;
  /** One row, in words; its plural has an s. */
  noun: string;
  empty: ComponentChildren;
}

/** Returns the name of a table of some rows. */
const nameOf = (noun: string) => `${noun[0].toUpperCase()}${noun.slice(1)}s`;
const isNothing = (rows: unknown[]) => rows.length === 0;

interface ListCardProps<T> extends CardProps, ListProps<T> {
  /** The rows to show, if they are more than those of the list. */
  shown?: Loaded<T[]>;
  children: (rows: T[]) => ComponentChildren;
}

/** A card of a list whose next rows are loaded by a button. */
export function ListCard<T>(props: ListCardProps<T>) {
  const { of, noun, shown = of } = props;
  return (
    <Card
      class={props.class}
      title={props.title}
      aside={
        <>
          <ListStanding of={of} noun={noun} every={props.every} />
          {props.actions}
        </>
      }>
      <States of={shown} isEmpty={isNothing} empty={props.empty}>
        {props.children}
      </States>
      <MoreRows of={of} noun={noun} />
      {props.below}
    </Card>
  );
}

interface ListPageProps<T extends { id: string }> extends ListProps<T> {
  title: string;
  /** What the list is filtered by. With other filters it begins at its top again. */
  filter: string;
  /** The fields that change the filter. */
  filters: ComponentChildren;
  actions?: ComponentChildren;
  /** The content above the filters, between them and the list, and beside the list. */
  head?: ComponentChildren;
  above?: ComponentChildren;
  side?: ComponentChildren;
  columns: Column<T>[];
  /** The columns of files with all rows. */
  exported: Record<string, (row: T) => unknown>;
  rowClass?: (row: T) => string;
  /** The windows of the page. */
  children?: ComponentChildren;
}

/** A page that is one long list. */
export function ListPage<T extends { id: string }>(props: ListPageProps<T>) {
  const { of, noun } = props;
  const list = (
    <div class={of.isOld.value ? "fill old" : "fill"}>
      <States of={of} isEmpty={isNothing} empty={props.empty}>
        {(rows) => (
          <VirtualTable
            label={nameOf(noun)}
            columns={props.columns}
            items={rows}
            keyOf={(row) => row.id}
            rowClass={props.rowClass}
            onEnd={of.more}
            total={of.rest.value.total}
            filters={props.filter}
          />
        )}
      </States>
    </div>
  );
  return (
    <Page
      title={props.title}
      sub={<ListStanding of={of} noun={noun} />}
      actions={
        <>
          {!!of.data.value?.length && <Exports name={`${noun}s`} all={of.all} columns={props.exported} />}
          {props.actions}
        </>
      }>
      {props.head}
      <div class="filters">{props.filters}</div>
      {props.above}
      {props.side ? (
        <div class="with-side">
          {props.side}
          {list}
        </div>
      ) : (
        list
      )}
      {props.children}
    </Page>
  );
}
