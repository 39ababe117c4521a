package agent.node;

import agent.node.HostRouting.Choice;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Follows what decides how flows are routed, and has the datapath route as decided. Each {@link
 * #poll} reads the node in the network namespace of the calling thread; {@link #current} is for any
 * thread.
 */
public final class HostRoutingWatch {
  private static final Logger LOGGER = LogManager.getLogger(HostRoutingWatch.class);

  /** Routes flows past the stack, or through it. */
  @FunctionalInterface
  public interface Router {
    /** Completes when flows go this way; fails with what the kernel refused. */
    CompletableFuture<Void> bypassStack(boolean bypassesStack);
  }

  private final Choice choice;
  private final Supplier<List<String>> needs;
  private volatile HostRouting current;

  /** Whether flows bypass the stack in the datapath; null: not known. */
  private volatile Boolean applied;

  private CompletableFuture<?> applying = CompletableFuture.completedFuture(null);

  HostRoutingWatch(Choice choice, Supplier<List<String>> needs) {
    this.choice = choice;
    this.needs = needs;
    current = HostRouting.choose(choice, needs.get());
    applied = current.bypassesStack();
    LOGGER.info("host routing: {}: {}", current.mode().text(), current.reason());
  }

  /**
   * Reads the node and chooses. The datapath must be started with {@code
   * current().bypassesStack()}.
   */
  public static HostRoutingWatch start(Choice choice) {
    return new HostRoutingWatch(choice, new NetfilterProbe()::read);
  }

  /** Returns what was chosen last. */
  public HostRouting current() {
    return current;
  }

  /** Reads the node and chooses again; a change that the datapath refused is tried again. */
  public void poll(Router router) {
    final HostRouting now = HostRouting.choose(choice, needs.get());
    if (!now.equals(current)) {
      LOGGER.warn(
          "host routing: {}: {} (was {}: {})",
          now.mode().text(),
          now.reason(),
          current.mode().text(),
          current.reason());
      current = now;
    }
    if (applying.isDone() && !Boolean.valueOf(now.bypassesStack()).equals(applied)) {
      apply(router, now.bypassesStack());
    }
  }

  private void apply(Router router, boolean bypassesStack) {
    applied = null;
    applying =
        router
            .bypassStack(bypassesStack)
            .handle(
                (done, failure) -> {
                  if (failure == null) {
                    applied = bypassesStack;
                  } else {
                    LOGGER.error("host routing: {}; retrying", failure.getMessage());
                  }
                  return null;
                });
  }
}
