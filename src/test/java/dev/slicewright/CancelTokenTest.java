package dev.slicewright;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class CancelTokenTest {

  @Test
  void runsListenersOnceAndInOrder() {
    CancelToken token = new CancelToken();
    List<Integer> ran = new ArrayList<>();
    token.onCancel(() -> ran.add(1));
    token.onCancel(() -> ran.add(2));
    assertThat(token.isCancelled()).isFalse();
    assertThat(ran).isEmpty();
    token.cancel();
    token.cancel();
    assertThat(token.isCancelled()).isTrue();
    assertThat(ran).containsExactly(1, 2);
  }

  @Test
  void runsAtOnceWhereItIsCancelledAlready() {
    CancelToken token = new CancelToken();
    token.cancel();
    AtomicInteger ran = new AtomicInteger();
    CancelToken.Registration registration = token.onCancel(ran::incrementAndGet);
    assertThat(ran).hasValue(1);
    registration.close();
    token.cancel();
    assertThat(ran).hasValue(1);
  }

  @Test
  void aClosedRegistrationDoesNotRunAndLeavesItsTwinAlone() {
    CancelToken token = new CancelToken();
    AtomicInteger ran = new AtomicInteger();
    Runnable action = ran::incrementAndGet;
    CancelToken.Registration first = token.onCancel(action);
    token.onCancel(action);
    first.close();
    first.close();
    token.cancel();
    assertThat(ran).hasValue(1);
  }

  @Test
  void aListenerMayUseTheToken() {
    CancelToken token = new CancelToken();
    AtomicInteger ran = new AtomicInteger();
    token.onCancel(
        () -> {
          token.cancel();
          token.onCancel(ran::incrementAndGet);
        });
    token.cancel();
    assertThat(ran).hasValue(1);
  }

  @Test
  void aListenerThatThrowsDoesNotKeepOthersFromRunning() {
    CancelToken token = new CancelToken();
    AtomicInteger ran = new AtomicInteger();
    token.onCancel(
        () -> {
          throw new IllegalStateException("one");
        });
    token.onCancel(
        () -> {
          throw new IllegalArgumentException("two");
        });
    token.onCancel(ran::incrementAndGet);
    assertThatThrownBy(token::cancel)
        .isInstanceOf(IllegalStateException.class)
        .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
    assertThat(ran).hasValue(1);
  }

  @Test
  void isSeenByAnotherThread() throws Exception {
    CancelToken token = new CancelToken();
    CountDownLatch started = new CountDownLatch(1);
    ExecutorService pool = Executors.newSingleThreadExecutor();
    try {
      Future<Boolean> worker =
          pool.submit(
              () -> {
                started.countDown();
                while (!token.isCancelled()) {
                  Thread.onSpinWait();
                }
                return true;
              });
      started.await();
      token.cancel();
      assertThat(worker.get(30, TimeUnit.SECONDS)).isTrue();
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void racingCancelsAndRegistrationsRunEachListenerOnce() throws Exception {
    int threads = 4;
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      for (int round = 0; round < 200; round++) {
        CancelToken token = new CancelToken();
        CyclicBarrier start = new CyclicBarrier(threads);
        AtomicInteger ran = new AtomicInteger();
        List<Future<?>> all = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
          boolean cancels = t < 2;
          all.add(
              pool.submit(
                  () -> {
                    start.await();
                    if (cancels) {
                      token.cancel();
                    } else {
                      for (int i = 0; i < 10; i++) {
                        token.onCancel(ran::incrementAndGet);
                        token.onCancel(() -> {}).close();
                      }
                    }
                    return null;
                  }));
        }
        for (Future<?> one : all) {
          one.get(30, TimeUnit.SECONDS);
        }
        assertThat(ran).hasValue(20);
      }
    } finally {
      pool.shutdownNow();
    }
  }
}
