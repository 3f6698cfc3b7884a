package dev.interlock.simulation.model;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.oracle.EmptyAnswerCheck;
import dev.interlock.simulation.oracle.Journal;
import dev.interlock.simulation.oracle.OutageCheck;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;

/** Reports the outcome of each request of a client for a lock to the checks. */
public final class AttemptRecorder {

  /** A request for a lock, or for a place in the queue. */
  interface Request<R> {
    R send() throws InterruptedException;
  }

  private final Machine machine;
  private final OutageCheck outages;
  private final EmptyAnswerCheck emptyAnswers;

  AttemptRecorder(Machine machine, Journal journal) {
    this.machine = machine;
    this.outages = journal.outageCheck;
    this.emptyAnswers = journal.emptyAnswerCheck;
  }

  <R> R ask(Claim claim, Request<R> request) throws InterruptedException {
    return recordOutcome(claim, false, request);
  }

  /** Waits in the queue. This is not a request, so a failure counts from when it is noticed. */
  Attempt await(Claim claim, Request<Attempt> wait) throws InterruptedException {
    return recordOutcome(claim, true, wait);
  }

  private <R> R recordOutcome(Claim claim, boolean waits, Request<R> request)
      throws InterruptedException {
    long sentAt = machine.scheduler().now();
    try {
      R answer = request.send();
      outages.recordAnswer(machine, claim, answer instanceof Attempt.Busy);
      if (answer instanceof Attempt.Granted granted) {
        emptyAnswers.recordGrant(machine, granted.grant(), granted.grant().validUntil());
      } else if (answer instanceof Attempt.Busy busy) {
        emptyAnswers.recordBusy(machine, claim, busy);
      } else {
        emptyAnswers.recordPlace(machine, claim);
      }
      return answer;
    } catch (LockUnavailableException e) {
      outages.recordFailure(machine, claim, waits ? machine.scheduler().now() : sentAt);
      emptyAnswers.recordFailure(machine, claim);
      throw e;
    } catch (LockConfigurationException e) {
      outages.recordAnswer(machine, claim, false);
      throw e;
    }
  }
}
