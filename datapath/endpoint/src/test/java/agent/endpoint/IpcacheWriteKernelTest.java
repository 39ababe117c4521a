package agent.endpoint;

import static agent.endpoint.TestRules.allowIngress;
import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.maps.kernel.BpfMap;
import agent.maps.kernel.GenerationArray;
import agent.maps.kernel.MapWriteListener;
import agent.maps.layout.GenerationLayout;
import agent.testkit.KernelTest;
import agent.testkit.Workload;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.agrona.DirectBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Each request writes an ipcache entry only where the entry changes, and raises the generation of
 * the outside, with which all flows to other nodes are judged again, at most once.
 */
@KernelTest
class IpcacheWriteKernelTest {
  private final AtomicInteger updates = new AtomicInteger();
  private final AtomicInteger deletes = new AtomicInteger();
  private KernelRig agent;
  private Workload workload;
  private GenerationArray generations;

  @BeforeEach
  void setUp() throws IOException {
    agent = new KernelRig();
    workload = agent.workload(31);
    generations = new GenerationArray(map("generations"));
    map("ipcache4").writeListener(new Counter());
    map("ipcache6").writeListener(new Counter());
  }

  @AfterEach
  void tearDown() throws IOException {
    generations.close();
    agent.close();
  }

  @Test
  void shouldWriteTheIpcacheOnceForEachChangeAndNeverWithoutOne() {
    expect("create", 2, 0, 2, () -> agent.create(31, workload, "app=a"));
    expect("the same labels", 0, 0, 0, () -> agent.relabel(31, "app=a"));
    expect("other labels", 2, 0, 2, () -> agent.relabel(31, "app=a", "tier=b"));
    expect(
        "an option", 0, 0, 0, () -> agent.configure("31", Map.of("DropNotification", "Disabled")));
    expect(
        "rules without CIDRs",
        0,
        0,
        0,
        () -> agent.importRules(allowIngress("app=a", "app=client", 8080)));
    expect("delete", 0, 2, 2, () -> agent.delete(31));
  }

  private void expect(
      String request, int wantedUpdates, int wantedDeletes, int wantedRaises, Runnable call) {
    updates.set(0);
    deletes.set(0);
    final long before = outside();
    call.run();
    assertEquals(wantedUpdates, updates.get(), request + ": entries written");
    assertEquals(wantedDeletes, deletes.get(), request + ": entries deleted");
    assertEquals(wantedRaises, outside() - before, request + ": generations of the outside");
  }

  /** Returns the sum of the generations of the outside: each raise of a shard adds one. */
  private long outside() {
    long sum = 0;
    for (int index = GenerationLayout.OUTSIDE; index < GenerationLayout.MAX; index++) {
      sum += generations.get(index);
    }
    return sum;
  }

  private BpfMap map(String name) {
    return agent.datapath().maps().find(name).orElseThrow();
  }

  private final class Counter implements MapWriteListener {
    @Override
    public void onUpdate(BpfMap map, DirectBuffer key, DirectBuffer value, int result) {
      updates.incrementAndGet();
    }

    @Override
    public void onDelete(BpfMap map, DirectBuffer key, int result) {
      deletes.incrementAndGet();
    }

    @Override
    public void onBulkWrite(BpfMap map) {
      updates.addAndGet(1_000_000);
    }
  }
}
