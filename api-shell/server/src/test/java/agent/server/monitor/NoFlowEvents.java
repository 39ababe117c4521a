package agent.server.monitor;

import agent.datapath.spec.DatapathEvents;
import agent.datapath.spec.FlowRing;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** A datapath that has no events. */
final class NoFlowEvents implements DatapathEvents {
  @Override
  public CompletableFuture<Void> subscribe(FlowSubscriber subscriber) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void unsubscribe(FlowSubscriber subscriber) {}

  @Override
  public long polls() {
    return System.nanoTime();
  }

  @Override
  public long received() {
    return 0;
  }

  @Override
  public long lost() {
    return 0;
  }

  @Override
  public long suppressed() {
    return 0;
  }

  @Override
  public FlowRing flows() {
    return new FlowRing(0, Set.of(), System::nanoTime);
  }
}
