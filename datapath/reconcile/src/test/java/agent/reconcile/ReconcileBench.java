package agent.reconcile;

import agent.conductor.ConductorAgent;
import agent.conductor.Repairs;
import agent.maps.mirror.RefusedWrites.Write;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** A reconciler on a conductor that the test steps, and maps in memory. */
final class ReconcileBench implements MapFaults {
  static final int WEAK = 0;
  static final int STRONG = 1;

  final TreeMap<String, String> faults = new TreeMap<>();
  final Repairs repairs = new Repairs();
  final ConductorAgent conductor = new ConductorAgent("test-conductor", this::nowNs);
  final RefusedEntries refused;
  final Reconciler reconciler;
  final List<String> answers = new ArrayList<>();
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[8]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[4]);
  long nowNs;

  ReconcileBench() {
    this(new RefusedEntries());
  }

  /** Creates a bench whose refused entries are beside those of others. */
  ReconcileBench(RefusedEntries refused) {
    this.refused = refused;
    reconciler = new Reconciler(this::nowNs, refused);
    conductor.beginHere(reconciler);
  }

  private long nowNs() {
    return nowNs;
  }

  DesiredTable table(TargetMap map, int rank) {
    return table(map, rank, Realization.PLAIN);
  }

  DesiredTable table(TargetMap map, int rank, Realization realization) {
    return reconciler.add(new DesiredTable(map, 2, rank, realization, this));
  }

  /** Adds a table whose owner throws at each write while something fails. */
  DesiredTable failingTable(TargetMap map, AtomicBoolean fails) {
    return table(
        map,
        0,
        new Realization() {
          @Override
          public void onWritten(
              MutableDirectBuffer key, MutableDirectBuffer before, MutableDirectBuffer after) {
            if (fails.get()) {
              throw new IllegalStateException("a bug");
            }
          }
        });
  }

  /** Returns the numbers of the refused entries of a map: what a mirror shows as desired. */
  Set<Integer> refused(NumberedMap map) {
    return refused.of(map.name()).stream().map(ReconcileBench::number).collect(Collectors.toSet());
  }

  /** Returns the number of the entry of a refused write. */
  static int number(Write write) {
    return new UnsafeBuffer(write.key()).getInt(4);
  }

  void put(Batch batch, DesiredTable table, int source, int number, int to) {
    key.putInt(4, number);
    value.putInt(0, to);
    batch.put(table, source, 0, key, value);
  }

  void remove(Batch batch, DesiredTable table, int source, int number) {
    key.putInt(4, number);
    batch.remove(table, source, 0, key);
  }

  void put(Batch batch, DesiredTable table, int owner, int source, int number, int to) {
    key.putInt(4, number);
    value.putInt(0, to);
    batch.put(table, source, owner, key, value);
  }

  void remove(Batch batch, DesiredTable table, int owner, int source, int number) {
    key.putInt(4, number);
    batch.remove(table, source, owner, key);
  }

  /** Submits a change; its answer is added to the answers. */
  void submit(Consumer<Batch> change) {
    reconciler.submit(
        (batch, limit) -> {
          change.accept(batch);
          return false;
        },
        failure -> answers.add(failure == null ? "in force" : failure.getMessage()));
  }

  /** Submits a change, and has it realized. */
  String change(Consumer<Batch> change) {
    submit(change);
    run();
    return answers.removeLast();
  }

  void run() {
    while (conductor.doWork() > 0) {}
  }

  /** Executes a round of comparison, and returns how much it has repaired. */
  static int round(PeriodicComparison comparison) {
    int repaired = 0;
    int step = comparison.step();
    while (step != PeriodicComparison.END_OF_ROUND) {
      repaired += step;
      step = comparison.step();
    }
    return repaired;
  }

  void elapse(long ms) {
    nowNs += TimeUnit.MILLISECONDS.toNanos(ms);
    run();
  }

  long repaired() {
    final long[] count = new long[1];
    repairs.forEach((kind, number) -> count[0] += number);
    return count[0];
  }

  @Override
  public void degraded(String subject, String found) {
    faults.put(subject, "degraded: " + found);
  }

  @Override
  public void failed(String subject, String found) {
    faults.put(subject, "failed: " + found);
  }

  @Override
  public void clear(String subject) {
    faults.remove(subject);
  }
}
