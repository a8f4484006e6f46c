# The evening before a tool is due its borrower gets a message; after five days the whole board gets one.
def remind(loan, today)
  return notify(loan.household) if loan.due - today == 1
  notify(:board) if today - loan.due == 5
end
