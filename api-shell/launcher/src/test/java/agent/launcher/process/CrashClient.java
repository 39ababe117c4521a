package agent.launcher.process;

import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A client that changes its own part of the agent's state by random calls, one after another, until
 * the agent does not answer. Each call either must succeed or must be refused, and the model
 * follows the answer.
 */
abstract class CrashClient implements Runnable {
  /** What the clients of one round did, for the report of a failure. */
  record Trace(List<String> calls, List<String> unexpected) {
    Trace() {
      this(new CopyOnWriteArrayList<>(), new CopyOnWriteArrayList<>());
    }
  }

  private static final int STARTING = 503;
  private static final long PAUSE_MS = 10;

  private final AgentProcess agent;
  private final Trace trace;
  private final long startNs = System.nanoTime();
  protected final Random random;
  private volatile boolean isStopped;

  CrashClient(AgentProcess agent, Trace trace, long seed) {
    this.agent = agent;
    this.trace = trace;
    random = new Random(seed);
  }

  /** Makes one random call. */
  protected abstract void change();

  /** The client ends after its present call. */
  void stop() {
    isStopped = true;
  }

  @Override
  public void run() {
    try {
      while (!isStopped && !isServed()) {
        Thread.sleep(PAUSE_MS);
      }
      while (!isStopped) {
        change();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      trace.unexpected.add("the client failed: " + e);
    }
  }

  private boolean isServed() {
    try {
      return agent.call("GET", "/endpoint", null).status() == 200;
    } catch (IOException notYet) {
      return false;
    }
  }

  /**
   * Makes a call.
   *
   * @return the answer, or null where none came; then this was the last call
   */
  protected ApiCall.Answer call(int expected, String method, String path, String body) {
    ApiCall.Answer answer = null;
    String outcome = "no answer";
    final long beginNs = System.nanoTime();
    try {
      answer = agent.call(method, path, body);
      outcome = answer.status() + " " + shortened(answer.text());
    } catch (IOException e) {
      isStopped = true;
    }
    final String line =
        "%d to %d ms: %s %s %s -> %s"
            .formatted(
                sinceStartMs(beginNs),
                sinceStartMs(System.nanoTime()),
                method,
                path,
                body == null ? "" : body.strip().replaceAll("\\s+", " "),
                outcome);
    trace.calls.add(line);
    if (answer != null && answer.status() != expected && answer.status() != STARTING) {
      trace.unexpected.add("expected " + expected + ": " + line);
    }
    return answer;
  }

  /** Leases a free address, or releases a leased one. */
  protected void changeLease(String address, CrashExpectation<String> lease) {
    final String wanted = lease.known() == null ? "owner-" + random.nextInt(100) : null;
    final ApiCall.Answer answer =
        wanted == null
            ? call(200, "DELETE", "/ipam/" + address, null)
            : call(200, "POST", "/ipam/" + address + "?owner=" + wanted, null);
    if (answer == null) {
      lease.unanswered(wanted);
    } else if (answer.status() == 200) {
      lease.answered(wanted);
    }
  }

  /** Makes a call that is refused. */
  protected void refused(int expected, String method, String path, String body) {
    call(expected, method, path, body);
  }

  private long sinceStartMs(long timeNs) {
    return (timeNs - startNs) / 1_000_000;
  }

  private static String shortened(String text) {
    return text.length() < 160 ? text : text.substring(0, 160) + "...";
  }

  protected <T> T any(List<T> choices) {
    return choices.get(random.nextInt(choices.size()));
  }

  protected boolean chance(int percent) {
    return random.nextInt(100) < percent;
  }
}
