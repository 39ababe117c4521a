package agent.endpoint;

import agent.datapath.manager.thread.ConductorAgent;
import agent.types.OperationException;
import agent.types.Refusal;
import org.agrona.concurrent.NanoClock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Runs the duty cycle of {@code ep-conductor} and logs unexpected exceptions. */
final class EndpointAgent extends ConductorAgent {
  private static final Logger LOGGER = LogManager.getLogger(EndpointAgent.class);

  EndpointAgent(NanoClock clock) {
    super("ep-conductor", clock);
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
