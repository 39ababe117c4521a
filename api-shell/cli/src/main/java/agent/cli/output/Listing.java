package agent.cli.output;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;

/** How the elements of an answer are shown: where they are, the columns, and which are wanted. */
public final class Listing {
  /**
   * A column.
   *
   * @param heading its heading
   * @param value the cell of an element
   */
  public record Column(String heading, Function<Object, Object> value) {}

  private final String member;
  private final List<Column> columns = new ArrayList<>();
  private Predicate<Object> wanted;
  private Comparator<Object> order;
  private long limit = Long.MAX_VALUE;

  /**
   * Begins a listing.
   *
   * @param member the member of the answer that is the array; empty where the answer is the array
   */
  public Listing(String member) {
    this.member = member;
  }

  /** Adds a column. */
  public Listing column(String heading, Function<Object, Object> value) {
    columns.add(new Column(heading, value));
    return this;
  }

  /** Adds a column of what these member names lead to. */
  public Listing column(String heading, String... names) {
    return column(heading, element -> Tree.at(element, names));
  }

  /** Leaves out what the predicate does not accept, in every format. */
  public Listing where(Predicate<Object> predicate) {
    wanted = wanted == null ? predicate : wanted.and(predicate);
    return this;
  }

  /** Sorts the elements; they are held in memory then. */
  public Listing sortedBy(Comparator<Object> comparator) {
    order = comparator;
    return this;
  }

  /** Ends after so many elements. */
  public Listing limit(long most) {
    limit = most;
    return this;
  }

  String member() {
    return member;
  }

  /** Returns the headings of the columns. */
  public String[] headings() {
    return columns.stream().map(Column::heading).toArray(String[]::new);
  }

  /** Returns the cells of an element. */
  public Object[] cells(Object element) {
    return columns.stream().map(column -> column.value.apply(element)).toArray();
  }

  boolean isWanted(Object element) {
    return wanted == null || wanted.test(element);
  }

  Comparator<Object> order() {
    return order;
  }

  long limit() {
    return limit;
  }

  /** Returns whether the elements are all shown, as they come. */
  boolean isPlain() {
    return wanted == null && order == null && limit == Long.MAX_VALUE;
  }
}
