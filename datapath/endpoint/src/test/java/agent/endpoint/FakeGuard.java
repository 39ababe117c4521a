package agent.endpoint;

import agent.datapath.spec.DeviceProxy;
import agent.node.DeviceSelection;
import agent.node.GuardedDevices;
import agent.types.AddressPair;
import agent.types.OperationException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** What guards the devices of {@link FakeNode}; it records its calls, and can refuse them. */
final class FakeGuard implements DeviceProxy {
  final List<Map<String, Integer>> guarded = new ArrayList<>();
  final List<Map<String, AddressPair>> masqueraded = new ArrayList<>();

  /** The failure of the next calls, or null. */
  String failure;

  /** Whether the answers of the next calls to guard wait for {@link #answerHeld}. */
  boolean holds;

  private final DeviceSelection selection;
  private final List<CompletableFuture<Void>> held = new ArrayList<>();

  /**
   * Creates a guard.
   *
   * @param selection the value of {@code --device}
   */
  FakeGuard(String selection) {
    this.selection = DeviceSelection.parse(selection);
  }

  /** Returns the devices of the node that are selected. */
  GuardedDevices devices(FakeNode node) {
    return new GuardedDevices(selection, node.devices, node.localAddresses, Set::of);
  }

  @Override
  public CompletableFuture<Void> guard(Map<String, Integer> devices) {
    guarded.add(devices);
    if (holds) {
      held.add(new CompletableFuture<>());
      return held.getLast();
    }
    return answer();
  }

  @Override
  public CompletableFuture<Void> masquerade(Map<String, AddressPair> addresses) {
    masqueraded.add(addresses);
    return answer();
  }

  private CompletableFuture<Void> answer() {
    return failure == null
        ? CompletableFuture.completedFuture(null)
        : CompletableFuture.failedFuture(new OperationException(failure));
  }

  /** Releases the answers that wait. */
  void answerHeld() {
    held.forEach(answer -> answer.complete(null));
    held.clear();
  }
}
