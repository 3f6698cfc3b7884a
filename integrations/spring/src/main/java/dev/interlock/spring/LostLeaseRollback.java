package dev.interlock.spring;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;

/**
 * Makes every transaction manager roll back instead of committing if the thread has lost one of its
 * leases.
 */
final class LostLeaseRollback implements BeanPostProcessor, TransactionExecutionListener {

  @Override
  public Object postProcessAfterInitialization(Object bean, String name) {
    if (bean instanceof ConfigurableTransactionManager manager) {
      manager.addListener(this);
    }
    return bean;
  }

  @Override
  public void beforeCommit(TransactionExecution transaction) {
    CurrentLease.ensureAllHeld();
  }
}
