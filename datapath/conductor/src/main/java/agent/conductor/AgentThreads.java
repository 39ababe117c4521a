package agent.conductor;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadFactory;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentRunner;
import org.agrona.concurrent.IdleStrategy;
import org.agrona.concurrent.NanoClock;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Starts and stops the threads that run Agrona agents. Each thread has the role name of its agent;
 * its duty cycles are measured, and its health is a module of the health board.
 */
public final class AgentThreads implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(AgentThreads.class);

  private final ThreadFactory threads;
  private final NanoClock clock;
  private final HealthBoard health;
  private final List<DutyCycle> cycles = new CopyOnWriteArrayList<>();
  private final List<Running> running = new ArrayList<>();

  /**
   * Creates the owner of the threads without starting one.
   *
   * @param threads factory of threads that run in the network namespace of the interfaces
   * @param clock clock that measures the duty cycles
   * @param health board that receives one module per agent
   */
  public AgentThreads(ThreadFactory threads, NanoClock clock, HealthBoard health) {
    this.threads = threads;
    this.clock = clock;
    this.health = health;
  }

  /**
   * Starts an agent on a thread with its role name.
   *
   * @param idle idle strategy of the agent
   * @param wake ends a wait of the idle strategy when the agent is closed
   * @param stallLimitNs longest duty cycle in nanoseconds; a longer one is a stall
   * @return a handle that stops the agent; {@link #close()} stops it, too
   */
  public Started start(Agent agent, IdleStrategy idle, Runnable wake, long stallLimitNs) {
    return start(agent, idle, wake, stallLimitNs, null);
  }

  private synchronized Started start(
      Agent agent, IdleStrategy idle, Runnable wake, long stallLimitNs, HealthBoard.Probe faults) {
    final DutyCycle cycle = new DutyCycle(agent.roleName(), stallLimitNs);
    final AgentRunner runner =
        new AgentRunner(
            idle,
            failure -> LOGGER.error("{}: duty cycle failed", agent.roleName(), failure),
            null,
            new MeasuredAgent(agent, cycle, clock));
    health.add(agent.roleName(), () -> health(cycle, faults));
    cycles.add(cycle);
    AgentRunner.startOnThread(runner, threads);
    final Running started = new Running(runner, wake, cycle);
    running.add(started);
    return started;
  }

  private HealthBoard.Reading health(DutyCycle cycle, HealthBoard.Probe faults) {
    final HealthBoard.Reading ofThread = cycle.health(clock.nanoTime());
    return faults == null || ofThread.level() != ModuleHealth.Level.OK ? ofThread : faults.read();
  }

  /**
   * Starts a conductor with its own idle strategy.
   *
   * @param stallLimitNs longest duty cycle in nanoseconds; a longer one is a stall
   * @return a handle that stops the conductor; {@link #close()} stops it, too
   */
  public Started start(ConductorAgent conductor, long stallLimitNs) {
    return start(conductor, stallLimitNs, null);
  }

  /**
   * Starts a conductor with its own idle strategy, in whose module is also what is wrong with what
   * it owns.
   *
   * @param stallLimitNs longest duty cycle in nanoseconds; a longer one is a stall
   * @param faults read while the thread works as it should; null: the module is the thread's alone
   * @return a handle that stops the conductor; {@link #close()} stops it, too
   */
  public Started start(ConductorAgent conductor, long stallLimitNs, HealthBoard.Probe faults) {
    return start(
        conductor, conductor.idleStrategy(), conductor.idleStrategy()::stop, stallLimitNs, faults);
  }

  /** Returns the duty cycles of all agents that were started. */
  public List<DutyCycle> dutyCycles() {
    return List.copyOf(cycles);
  }

  /** Stops the running agents in the reverse order of their start. */
  @Override
  public synchronized void close() {
    for (final Running one : running.reversed()) {
      one.close();
    }
  }

  /** An agent that runs. */
  public interface Started extends AutoCloseable {
    /** Stops it, and waits for the end of its thread. */
    @Override
    void close();
  }

  private record Running(AgentRunner runner, Runnable wake, DutyCycle cycle) implements Started {
    @Override
    public void close() {
      if (!runner.isClosed()) {
        wake.run();
        runner.close();
        cycle.close();
      }
    }
  }

  /** Measures each duty cycle of an agent. */
  private record MeasuredAgent(Agent agent, DutyCycle cycle, NanoClock clock) implements Agent {
    @Override
    public void onStart() {
      agent.onStart();
    }

    @Override
    public int doWork() throws Exception {
      cycle.begin(clock.nanoTime());
      final int count;
      try {
        count = agent.doWork();
      } catch (Throwable failure) {
        cycle.fail(clock.nanoTime(), String.valueOf(failure.getMessage()));
        throw failure;
      }
      cycle.end(clock.nanoTime(), count);
      return count;
    }

    @Override
    public void onClose() {
      agent.onClose();
    }

    @Override
    public String roleName() {
      return agent.roleName();
    }
  }
}
