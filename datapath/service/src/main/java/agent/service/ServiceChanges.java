package agent.service;

import agent.datapath.spec.ServiceProxy;
import agent.service.ServiceTurns.Turn;
import agent.service.TakenFrontends.Listener;
import agent.types.EntrySource;
import agent.types.Refusal;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Makes the changes of services, as commands of the thread that changes the maps: it has the order
 * of the changes, the frontends and the numbers, and its step from the check of a change to its
 * entries needs no other thread. A record is handed to the thread of the disk as soon as the
 * entries are in force, and that thread answers the caller. Nothing here waits.
 */
final class ServiceChanges {
  private static final Logger LOGGER = LogManager.getLogger(ServiceChanges.class);
  private static final Runnable NOTHING = () -> {};

  /**
   * The least number of a service that its source does not number. The API may have services from
   * here on, too; what one of both has the other does not get.
   */
  static final int FIRST_ALLOCATED = 1 << 30;

  private final ServiceProxy datapath;
  private final ServiceStore store;
  private final ServiceEnforcement enforcement;
  private final HeldServices services;
  private final NamedBackends named;
  private final TakenFrontends frontends; // of the owner's thread, and of the start before
  private final ServiceTurns turns = new ServiceTurns(this::settleSoon); // of the owner's thread
  private int backends; // of the owner's thread
  private volatile int mostBackends = Integer.MAX_VALUE;
  private volatile Services.Observer observer = (id, before, after) -> {};

  /**
   * Creates the owner of the services that were restored.
   *
   * @param frontends those that the services have
   */
  ServiceChanges(
      ServiceProxy datapath,
      ServiceStore store,
      ServiceForms forms,
      HeldServices services,
      NamedBackends named,
      TakenFrontends frontends) {
    this.datapath = datapath;
    this.store = store;
    enforcement = new ServiceEnforcement(datapath, forms);
    this.services = services;
    this.named = named;
    this.frontends = frontends;
    services.all().forEach(service -> backends += service.backends().size());
  }

  /** Sets who learns of changes. */
  void observe(Services.Observer value) {
    observer = value;
  }

  /** Sets how many backends all services may have together; those that are restored stay. */
  void limit(int most) {
    mostBackends = most;
  }

  /** Creates a service, or replaces the one with its id; for any thread. */
  CompletableFuture<Services.Put> put(Service service) {
    final Change change = new Change(service);
    command(change.answer, change::begin);
    return change.answer;
  }

  /** Removes a service of a source; for any thread. */
  CompletableFuture<Void> remove(int id, EntrySource source) {
    final Removal removal = new Removal(id, source);
    command(removal.answer, () -> turns.take(id, removal::begin));
    return removal.answer;
  }

  /** Executes a command on the owner's thread; what it throws, or refuses it, is its answer. */
  private void command(CompletableFuture<?> answer, Runnable command) {
    datapath
        .run(
            () -> {
              turns.settle();
              try {
                command.run();
              } catch (RuntimeException failure) {
                answer.completeExceptionally(failure);
              }
            })
        .whenComplete((done, refusal) -> completeFailed(answer, refusal));
  }

  private static void completeFailed(CompletableFuture<?> answer, Throwable failureOrNull) {
    if (failureOrNull != null) {
      answer.completeExceptionally(cause(failureOrNull));
    }
  }

  private static Throwable cause(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? cause(failure.getCause())
        : failure;
  }

  private void settleSoon() {
    command(new CompletableFuture<>(), NOTHING);
  }

  private static void requireOwn(Service held, EntrySource source) {
    held.source()
        .requireOf(source, "id", () -> "service %d (%s)".formatted(held.id(), held.frontend()));
  }

  private void tell(int id, Service before, Service after) {
    try {
      observer.onChange(id, before, after);
    } catch (RuntimeException failure) {
      LOGGER.error("service {}: telling of its change failed", id, failure);
    }
  }

  private CompletableFuture<Void> follow(int id, Service... states) {
    try {
      return named.set(id, states);
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  static int firstNumber(Frontend frontend) {
    return allocatable(frontend.toString().hashCode());
  }

  private static int allocatable(int number) {
    return FIRST_ALLOCATED | number & FIRST_ALLOCATED - 1;
  }

  private static boolean isSame(Service heldOrNull, Service service) {
    return heldOrNull != null
        && heldOrNull.source().equals(service.source())
        && heldOrNull.frontend().equals(service.frontend());
  }

  private boolean mayHave(int id, Service service) {
    final Service held = services.at(id);
    return held == null
        ? id >= FIRST_ALLOCATED && !services.unreadable().containsKey(id)
        : isSame(held, service);
  }

  /**
   * One service in the place of its former self or of none: it is put into the datapath first, and
   * taken back out where its record cannot be written.
   */
  private final class Change {
    private final CompletableFuture<Services.Put> answer = new CompletableFuture<>();
    private Service service;
    private List<ServiceProxy.Placed> placed;
    private Turn turn;
    private Service before;
    private int more;
    private List<Listener> taken;

    /** Creates the change; the caller places the service, which takes long, if it has a number. */
    Change(Service service) {
      this.service = service;
      if (service.id() != Service.UNNUMBERED && !service.equals(services.at(service.id()))) {
        placed = enforcement.place(service);
      }
    }

    void begin() {
      if (service.id() == Service.UNNUMBERED) {
        beginAt(usualNumber());
      } else {
        turns.take(service.id(), this::begin);
      }
    }

    /** Returns the number that a service without one has already, or the first to try. */
    private int usualNumber() {
      final Integer holder = frontends.ownerOf(service);
      return holder != null && isSame(services.at(holder), service)
          ? holder
          : firstNumber(service.frontend());
    }

    /**
     * Tries the numbers that follow from the frontend, so that services with one frontend try the
     * same ones, and wait for each other.
     */
    private void beginAt(int first) {
      int tried = first;
      while (!turns.isTaken(tried) && !mayHave(tried, service)) {
        tried = allocatable(tried + 1);
      }
      final int number = tried;
      turns.take(
          number,
          own -> {
            if (mayHave(number, service)) {
              service = service.numbered(number);
              begin(own);
            } else {
              own.end(NOTHING);
              beginAt(allocatable(number + 1));
            }
          });
    }

    private void begin(Turn own) {
      turn = own;
      try {
        before = services.find(service.id()).orElse(null);
        if (before != null) {
          requireOwn(before, service.source());
        }
        if (service.equals(before)) {
          turn.end(NOTHING);
          answer.complete(new Services.Put(service, false));
          return;
        }
        if (placed == null) {
          placed = enforcement.place(service);
        }
        reserve();
      } catch (RuntimeException refusal) {
        turn.end(NOTHING);
        answer.completeExceptionally(refusal);
        return;
      }
      follow(service.id(), before, service)
          .thenCompose(followed -> enforcement.put(placed, before, service))
          .whenComplete(this::enforced);
    }

    private void reserve() {
      more = service.backends().size() - (before == null ? 0 : before.backends().size());
      if (more > 0 && backends + more > mostBackends) {
        throw Refusal.exhausted(
            "backend-addresses",
            "more than " + mostBackends + " backends in all services (--max-service-backends)");
      }
      taken = frontends.take(service, services::at);
      backends += more;
    }

    private void enforced(Void done, Throwable failure) {
      if (failure != null) {
        command(answer, () -> undo(cause(failure)));
        return;
      }
      store.save(service).whenComplete(this::stored);
      LOGGER.info( // here, since the thread of the disk answers a group of callers without a pause
          "service {}: {} {} with {} backends",
          service.id(),
          before == null ? "created," : "changed,",
          service.frontend(),
          service.backends().size());
    }

    private void stored(Void done, Throwable failure) {
      if (failure != null) {
        command(answer, () -> takeBack(cause(failure)));
        return;
      }
      services.put(service);
      tell(service.id(), before, service);
      if (before != null && before.name() != null) { // its backends may be no longer needed
        command(answer, () -> follow(service.id(), service).whenComplete(this::end));
      } else {
        end(null, null);
      }
    }

    private void end(Void done, Throwable failure) {
      turn.end(() -> frontends.release(before, service));
      if (failure == null) {
        answer.complete(new Services.Put(service, before == null));
      } else {
        answer.completeExceptionally(cause(failure));
      }
    }

    private void takeBack(Throwable why) {
      LOGGER.warn("service {}: not stored, and taken back: {}", service.id(), why.getMessage());
      (before == null
              ? enforcement.remove(service)
              : enforcement.put(enforcement.place(before), service, before))
          .whenComplete(
              (done, failure) ->
                  command(answer, () -> undo(failure == null ? why : cause(failure))));
    }

    private void undo(Throwable why) {
      backends -= more;
      frontends.giveBack(taken);
      follow(service.id(), before)
          .whenComplete(
              (done, failure) -> {
                if (failure != null) {
                  LOGGER.warn(
                      "service {}: undoing its name failed: {}",
                      service.id(),
                      cause(failure).getMessage());
                }
                turn.end(NOTHING);
                answer.completeExceptionally(why);
              });
    }
  }

  /** The removal of a service: of its record first, then from the datapath. */
  private final class Removal {
    private final CompletableFuture<Void> answer = new CompletableFuture<>();
    private final int id;
    private final EntrySource source;
    private Turn turn;
    private Service service;

    Removal(int id, EntrySource source) {
      this.id = id;
      this.source = source;
    }

    void begin(Turn own) {
      turn = own;
      try {
        if (!source.equals(EntrySource.API)) {
          services.checkReadable(id);
        }
        service = services.at(id);
        if (service == null && !services.unreadable().containsKey(id)) {
          throw HeldServices.missing(id);
        }
        if (service != null) {
          requireOwn(service, source);
        }
      } catch (RuntimeException refusal) {
        end(null, refusal);
        return;
      }
      store
          .remove(id)
          .whenComplete(
              (done, failure) -> {
                if (failure == null) {
                  command(answer, this::withdrawAll);
                } else {
                  end(null, failure);
                }
              });
    }

    private void withdrawAll() {
      services.remove(id);
      backends -= service == null ? 0 : service.backends().size();
      (service == null ? enforcement.removeAll(id) : enforcement.remove(service))
          .whenComplete((done, failure) -> command(answer, () -> release(failure)));
    }

    /** Not before: the entry of another service would be removed from the maps. */
    private void release(Throwable failure) {
      if (service == null) {
        frontends.releaseAll(id);
      } else {
        frontends.release(service, null);
      }
      final CompletableFuture<Void> unnamed = follow(id);
      if (failure != null) {
        end(null, failure);
        return;
      }
      LOGGER.info("service {}: removed", id);
      tell(id, service, null);
      unnamed.whenComplete(this::end);
    }

    private void end(Void done, Throwable failure) {
      turn.end(NOTHING);
      if (failure == null) {
        answer.complete(null);
      } else {
        answer.completeExceptionally(cause(failure));
      }
    }
  }
}
