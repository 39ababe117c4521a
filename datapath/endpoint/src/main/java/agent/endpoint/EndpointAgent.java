package agent.endpoint;

import agent.conductor.ConductorAgent;
import agent.endpoint.watch.NodeWatch;
import agent.types.OperationException;
import agent.types.Refusal;
import org.agrona.concurrent.NanoClock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Runs the duty cycle of {@code ep-conductor}, follows the events of the node, and logs unexpected
 * exceptions.
 */
final class EndpointAgent extends ConductorAgent {
  private static final Logger LOGGER = LogManager.getLogger(EndpointAgent.class);

  private NodeWatch nodeWatch;

  EndpointAgent(NanoClock clock) {
    super("ep-conductor", clock);
  }

  /** Sets the watch that works in each duty cycle, before the first one. */
  void watch(NodeWatch watch) {
    nodeWatch = watch;
  }

  @Override
  protected int background() {
    return nodeWatch.work();
  }

  @Override
  protected void closed() {
    nodeWatch.close();
  }

  @Override
  protected RuntimeException translate(Throwable failure) {
    if (failure instanceof Refusal || failure instanceof OperationException) {
      return (RuntimeException) failure;
    }
    LOGGER.error("unexpected failure: {}", failure.toString(), failure);
    return new OperationException(failure.toString(), failure);
  }
}
