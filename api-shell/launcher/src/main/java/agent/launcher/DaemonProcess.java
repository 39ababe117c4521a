package agent.launcher;

import agent.bindings.process.ProcessAttributes;
import agent.domain.proxy.ProxyProcess;
import agent.launcher.kernel.FeatureProbe;
import agent.launcher.log.AgentLog;
import agent.launcher.options.HelpText;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionValues;
import agent.launcher.options.ServedCheck;
import agent.types.AlreadyInUseException;
import agent.types.IoFailure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import jdk.internal.misc.Signal;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The process of the daemon: options, log, signals, exit codes. SIGHUP has the options read again,
 * and the files of the proxies opened again. Exit codes: 0 after SIGTERM or SIGINT, 1 after a
 * failure, 2 for an option that is unknown or has a bad value, 3 where another agent uses what this
 * one would share with it.
 */
public final class DaemonProcess {
  private static final int OK = 0;
  private static final int FAILED = 1;
  private static final int USAGE = 2;
  private static final int IN_USE = 3;

  /** No file that the agent creates is for others, unless its mode is set explicitly. */
  private static final int FILE_MODE_MASK = 0077;

  private static final long LONGEST_STOP_MS = 10_000;

  /** Prefixes of the names of the threads that own the datapath and the endpoints. */
  private static final List<String> OWNER_PREFIXES = List.of("dp-", "ep-");

  private final Daemon daemon;
  private final OptionReload reload;
  private final Semaphore reloads = new Semaphore(0);
  private volatile int exitCode = OK;

  private DaemonProcess(Daemon daemon, OptionReload reload) {
    this.daemon = daemon;
    this.reload = reload;
  }

  /**
   * Runs the daemon until SIGTERM or SIGINT; SIGHUP has it read its options again.
   *
   * @param arguments the command line
   */
  public static void main(String[] arguments) {
    if (arguments.length > 0 && arguments[0].equals(CleanupCommand.NAME)) {
      System.exit(cleanup(List.of(arguments).subList(1, arguments.length)));
    }
    if (arguments.length == 1 && arguments[0].equals(ProxyProcess.NAME)) {
      serveProxies();
      return;
    }
    final long startNs = System.nanoTime();
    final OptionValues options;
    final Settings settings;
    try {
      options = OptionValues.read(List.of(arguments), System.getenv());
      if (options.bool("help")) {
        System.out.print(HelpText.text());
        return;
      }
      if (options.bool("version")) {
        System.out.println("agent " + Version.text());
        return;
      }
      Preload.start();
      ServedCheck.check(options, new FeatureProbe());
      ProcessAttributes.fileModeMask(FILE_MODE_MASK);
      settings = new Settings(options);
      OptionsCheck.check(settings);
      settings.startLog();
    } catch (OptionException e) {
      System.err.println("agent: " + e.getMessage());
      System.exit(USAGE);
      return;
    } catch (RuntimeException | Error e) {
      System.err.println("agent: " + message(e));
      System.exit(FAILED);
      return;
    }
    final Logger log = LogManager.getLogger(DaemonProcess.class);
    options
        .unknownVariables()
        .forEach(
            name ->
                log.warn("environment variable {} does not name an option and is ignored", name));
    final Daemon daemon = new Daemon(settings);
    final OptionReload reload =
        new OptionReload(
            options,
            () -> OptionValues.read(List.of(arguments), System.getenv()),
            changed -> {
              changed.startLog();
              daemon.apply(changed);
            });
    new DaemonProcess(daemon, reload).run(log, startNs);
  }

  /** Returns when the agent that has started this process has ended. */
  private static void serveProxies() {
    System.setOut(System.err); // that is for frames
    AgentLog.prepare();
    for (final String signal : List.of("TERM", "INT", "HUP")) {
      Signal.handle(new Signal(signal), Signal.Handler.SIG_IGN); // it ends with the agent
    }
    try (HeapReturn _ = HeapReturn.start(() -> 0)) { // no change frees much of it
      ProxyProcess.run(AgentLog::forward);
    } catch (IOException | RuntimeException e) {
      System.err.println(message(e));
      System.exit(FAILED);
    }
  }

  private static int cleanup(List<String> arguments) {
    try {
      return new CleanupCommand(System.out, System.err, System.in).run(arguments, System.getenv());
    } catch (OptionException e) {
      System.err.println("agent: " + e.getMessage());
      return USAGE;
    } catch (AlreadyInUseException e) {
      System.err.println("agent: " + e.getMessage());
      return IN_USE;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException | Error e) {
      System.err.println("agent: " + message(e));
    }
    return FAILED;
  }

  private void run(Logger log, long startNs) {
    Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> fail(log, thread, failure));
    Signal.handle(new Signal("HUP"), signal -> reloads.release());
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(log), "shutdown"));
    try {
      daemon.start();
      final long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNs);
      log.info("agent {} is ready, {} ms after its start", Version.number(), tookMs);
      while (true) {
        reloads.acquire();
        reloads.drainPermits();
        reload.run();
        daemon.reopenLogs();
        AgentLog.reopen();
      }
    } catch (OptionException e) {
      log.fatal("{}", e.getMessage());
      exitCode = USAGE;
    } catch (AlreadyInUseException e) {
      log.fatal("{}", e.getMessage());
      exitCode = IN_USE;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception | Error e) {
      log.fatal("the agent cannot start: {}", message(e), e);
      exitCode = FAILED;
    }
    System.exit(exitCode);
  }

  /**
   * Ends the process where a thread that owns state failed: programs stay attached, and a new agent
   * restores the rest. The failure of a thread of a library or of a request is only logged.
   */
  private void fail(Logger log, Thread thread, Throwable failure) {
    log.error("thread {}: {}", thread.getName(), message(failure), failure);
    if (OWNER_PREFIXES.stream().anyMatch(thread.getName()::startsWith)) {
      log.fatal("the agent ends: its thread {} failed", thread.getName());
      exitCode = FAILED;
      Runtime.getRuntime().exit(FAILED);
    }
  }

  /** Runs in the shutdown hook; without it the exit code after a signal would be 128 and more. */
  private void stop(Logger log) {
    final Thread closing = new Thread(() -> close(log), "closing");
    closing.setDaemon(true);
    closing.start();
    try {
      closing.join(LONGEST_STOP_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (closing.isAlive()) {
      log.error("the agent did not stop within {} ms: the process ends now", LONGEST_STOP_MS);
      exitCode = FAILED;
    } else if (exitCode == OK) {
      log.info("agent stopped; the programs stay attached and enforce policy");
    }
    LogManager.shutdown();
    Runtime.getRuntime().halt(exitCode);
  }

  private void close(Logger log) {
    try {
      daemon.close();
    } catch (RuntimeException e) {
      log.error("stopping: {}", message(e), e);
      exitCode = FAILED;
    }
  }

  /** Returns one line without names of Java classes, which the message of an Error is. */
  private static String message(Throwable failure) {
    final Throwable cause = failure.getCause();
    final boolean hasMessage =
        failure.getMessage() != null
            && (cause == null || !failure.getMessage().equals(cause.toString()));
    return switch (failure) {
      case IOException io -> IoFailure.sentence(io);
      case UncheckedIOException io when !hasMessage -> IoFailure.sentence(io.getCause());
      case RuntimeException other when hasMessage -> other.getMessage();
      default -> "internal error; --debug shows where";
    };
  }
}
